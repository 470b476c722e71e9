"""The one place where a hosted or self-hosted model is called. The engine "rules" never comes here."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import jinja2
import openai
from tqdm import tqdm

from lib.paths import REPOSITORY


@dataclass(frozen=True)
class Reply:
    """A model's text, or the reason why there is none; a reply cut at the length limit is no text."""

    text: str
    reason: str = ""  # "" where `text` is whole


def rendered(prompt: str, **slots: object) -> str:
    """prompts/<prompt>.md with its Jinja slots filled; a slot without a value is an error."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False)
    return environment.from_string((REPOSITORY / "prompts" / f"{prompt}.md").read_text(encoding="utf-8")).render(slots)


def complete(prompts: list[str], model: str, *, max_tokens: int = 4096, concurrency: int = 8) -> list[Reply]:
    """Ask `model` each prompt at temperature 0; replies in input order.

    Key and base URL come from OPENAI_API_KEY and OPENAI_BASE_URL. A call that fails keeps its place with its
    reason. Raises RuntimeError where no key is set, or where every call failed.
    """
    if not os.environ.get("OPENAI_API_KEY"):
        raise RuntimeError(f"the model {model!r} needs OPENAI_API_KEY in the environment (any text for a local server, "
                           'with OPENAI_BASE_URL); set it, or use "rules"')
    client = openai.OpenAI()
    with ThreadPoolExecutor(concurrency) as pool:
        asked = pool.map(partial(_ask, client, model, max_tokens), prompts)
        replies = list(tqdm(asked, total=len(prompts), desc=model))
    if prompts and all(reply.reason for reply in replies):
        raise RuntimeError(f"all {len(prompts)} calls to {model!r} failed, the first with: {replies[0].reason}; "
                           "check OPENAI_BASE_URL, OPENAI_API_KEY and the model's name")
    return replies


def _ask(client: openai.OpenAI, model: str, max_tokens: int, prompt: str) -> Reply:
    try:
        response = client.chat.completions.create(model=model, temperature=0, max_completion_tokens=max_tokens,
                                                  messages=[{"role": "user", "content": prompt}])
        choice = response.choices[0]
    except (openai.OpenAIError, ValueError, AttributeError, IndexError, TypeError) as error:
        status = getattr(error, "status_code", "")  # the message itself could repeat a key
        return Reply("", f"{type(error).__name__} {status}".strip())
    text = (choice.message.content or "").encode("utf-8", "replace").decode()  # half a character cannot be stored
    return Reply(text, "" if choice.finish_reason == "stop" and text else f"finish_reason {choice.finish_reason}")
