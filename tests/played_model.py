"""A model played over HTTP on loopback, and what a gullible model sees in a prompt."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.llm_server import Server

INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


@contextmanager
def chatted(
    reply_to: Callable[[list[dict]], str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[list[dict]]]:
    """Start an endpoint that replies reply_to(messages); yield the chats in order of arrival."""
    chats = []

    def reply(body: dict) -> str:
        chats.append(body["messages"])
        return reply_to(chats[-1])

    with Server(reply=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        yield chats


@contextmanager
def played(reply_to: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Start an endpoint that replies reply_to(prompt); yield the prompts in order of arrival."""
    prompts = []

    def reply(messages: list[dict]) -> str:
        prompts.append(messages[-1]["content"])
        return reply_to(prompts[-1])

    with chatted(reply, monkeypatch):
        yield prompts


def leniently(prompt: str) -> str:
    """Return `prompt` with escapes undone, letters and brackets plain, invisible ones removed."""
    plain = unicodedata.normalize("NFKC", html.unescape(html.unescape(prompt)))
    return INVISIBLE.sub("", plain).lower()


def within(prompt: str, tag: str) -> str:
    """Return the content of `tag`, up to the first text that looks like its end."""
    found = re.search(rf"<\s*{tag}\b[^<>]*>(.*?)<\s*/\s*{tag}\b", leniently(prompt), re.S)
    return found[1].strip() if found else ""


def outside(prompt: str, tags: tuple[str, ...]) -> str:
    """Return what a gullible model takes for its instructions: all text outside of tags."""
    text = leniently(prompt)
    for tag in tags:
        text = re.sub(rf"<\s*{tag}\b[^<>]*>.*?<\s*/\s*{tag}\b[^<>]*>", "", text, flags=re.S)
    return text
