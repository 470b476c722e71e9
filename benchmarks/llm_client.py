"""One client in a separate process, for benchmarks/llm.py: prompts in, replies and costs out."""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import openai

from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request

_SECONDS_FOR_A_CALL = 20.0  # a bare call that trickles is then abandoned: it would never end

Replies = list[tuple[str, str]]  # (text, reason): with a reason, the text is not an answer


def ours(prompts: list[str], settings: dict) -> Replies:
    """Ask by `complete`; `settings` are fields of Calls."""
    calls = Calls(**settings | {"cache": Path(settings["cache"])})
    replies = complete([Request.ask(prompt) for prompt in prompts], "m", calls)
    return [(reply.text, reply.reason) for reply in replies]


def bare(prompts: list[str], settings: dict,
         http_client: Callable[[], object] = lambda: None) -> Replies:
    """Ask by AsyncOpenAI unchanged, under a semaphore."""
    async def all_of_them() -> Replies:
        client = openai.AsyncOpenAI(http_client=http_client(),
                                    timeout=settings.get("timeout_seconds", 600))
        room = asyncio.Semaphore(settings["concurrency"])

        async def ask(prompt: str) -> tuple[str, str]:
            async with room:
                try:
                    messages = [{"role": "user", "content": prompt}]
                    call = client.chat.completions.create(model="m", messages=messages)
                    reply = await asyncio.wait_for(call, _SECONDS_FOR_A_CALL)
                    return str(reply.choices[0].message.content), ""
                except Exception as error:  # not only openai.APIError
                    return "", type(error).__name__
        replies = await asyncio.gather(*map(ask, prompts))
        await client.close()
        return replies
    return asyncio.run(all_of_them())


def over_aiohttp(prompts: list[str], settings: dict) -> Replies:
    """Ask as `bare` does, over aiohttp."""
    return bare(prompts, settings, openai.DefaultAioHttpClient)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Read {"client", "prompts", "settings"} from standard input; print the result last."""
    asked = json.load(sys.stdin)
    ask = {"ours": ours, "bare": bare, "aiohttp": over_aiohttp}[asked["client"]]
    cpu, start = cpu_seconds(), time.perf_counter()
    replies = ask(asked["prompts"], asked["settings"])
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux: KiB
    print(json.dumps({"replies": replies, "seconds": seconds, "cpu_seconds": cpu,
                      "peak_mib": peak}))


if __name__ == "__main__":
    main()
