"""A process of benchmarks/llm.py: runs of its clients one after another, each a line of JSON."""

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path

import aiohttp

import lib.llm.client
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request

Replies = list[tuple[str, str]]  # (text, reason): with a reason, the text is not an answer


def ours(prompts: list[str], settings: dict) -> Replies:
    """Ask by `complete`; `settings` are fields of Calls."""
    lib.llm.client.TIMEOUT_SECONDS = 2.0
    calls = Calls(**settings | {"cache": Path(settings["cache"])})
    replies = complete([Request.ask(prompt) for prompt in prompts], "m", calls)
    return [(reply.text, reply.reason) for reply in replies]


def bare(prompts: list[str], settings: dict) -> Replies:
    """Ask by one aiohttp session under a semaphore, and check nothing."""
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}

    async def all_of_them() -> Replies:
        room = asyncio.Semaphore(settings["concurrency"])

        async def ask(prompt: str) -> tuple[str, str]:
            body = {
                "model": "m",
                "max_completion_tokens": 4096,
                "messages": [{"role": "user", "content": prompt}],
            }
            async with room, session.post(url, json=body) as got:
                return (await got.json())["choices"][0]["message"]["content"], ""

        async with aiohttp.ClientSession(
            headers=headers, connector=aiohttp.TCPConnector(limit=0)
        ) as session:
            return await asyncio.gather(*map(ask, prompts))

    return asyncio.run(all_of_them())


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Read [[client, prompts, settings], …] from standard input; print a result for each."""
    for client, prompts, settings in json.load(sys.stdin):
        cpu, start = cpu_seconds(), time.perf_counter()
        replies = {"ours": ours, "bare": bare}[client](prompts, settings)
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
        print(
            "\n" + json.dumps({"replies": replies, "seconds": seconds, "cpu_seconds": cpu}),
            flush=True,
        )


if __name__ == "__main__":
    main()
