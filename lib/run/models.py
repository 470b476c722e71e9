"""Models that a study's stages call: their prices and limits, and whether the endpoint answers."""

import asyncio
from contextlib import closing

from lib.core.errors import Stopped
from lib.core.store import REPOSITORY, data_path
from lib.llm.__main__ import import_from
from lib.llm.budget import check_price
from lib.llm.cache import Cache
from lib.llm.calls import calls_for, dollars
from lib.llm.endpoint import Endpoint, endpoint
from lib.llm.faults import fault_of, fault_of_reply
from lib.run.config import AnyStudy
from lib.run.parameters import notebook_path

_KEYS = ("annotator", "normalizer", "augmenter", "endpoint_model", "judge")
_NO_MODELS = (None, "", "rules", "facts")


def models_of(study: AnyStudy) -> list[tuple[str, str]]:
    """Return the stages that have not begun and the models that they call."""
    records = data_path(study.name, "stages")
    waiting = [
        stage
        for stage in study.stages
        if not any(records.glob(f"{stage}*.json"))
        and "calls_for(" in notebook_path(stage).read_text(encoding="utf-8")
    ]
    return sorted(
        {
            (stage, model)
            for stage in waiting
            for arm in study.arms_of(stage)
            for key in _KEYS
            if (model := study.given(stage, arm).get(key)) not in _NO_MODELS
        }
    )


def announce(study: AnyStudy) -> None:
    """Import the study's replies, and print what each stage's model costs at most.

    Raises Stopped for a file of replies that is missing, for a model without a price, and, if no
    reply is cached yet, for a missing key and for an endpoint that cannot be used.
    """
    if study.replies:
        if not (REPOSITORY / study.replies).is_file():
            raise Stopped(
                f"studies/{study.name}.yaml, replies: {study.replies} is missing: "
                "restore it, or leave the key out and name models with an endpoint"
            )
        with closing(Cache(data_path(study.name, "llm.sqlite"))) as cache:
            import_from(cache, REPOSITORY / study.replies)
    stages = models_of(study)
    for stage, model in stages:
        calls = calls_for(study.name, stage)
        price = check_price(model, calls)
        costs = (
            "price unknown"
            if price is None
            else f"${price.input_usd_per_million:f} per million tokens in, "
            f"${price.output_usd_per_million:f} out"
        )
        limit = (
            "without a limit: max_cost_usd is null"
            if calls.max_cost_usd is None
            else f"stops before {dollars(calls.max_cost_usd)} over all runs"
        )
        print(f"{stage}: {model}, {costs}; {limit}", flush=True)
    at = endpoint()
    trouble = (
        ""
        if not stages
        else asyncio.run(_trouble(at))
        if at
        else ("no key is set: set OPENAI_API_KEY in the environment or in .env")
    )
    if trouble and not data_path(study.name, "llm.sqlite").exists():
        raise Stopped(
            f"{trouble}. {', '.join(stage for stage, _ in stages)} would call a model; "
            "nothing has run yet"
        )
    if trouble:
        print(f"{trouble}; the stages can only use replies that are cached", flush=True)


async def _trouble(at: Endpoint) -> str:
    import aiohttp

    async with at.client() as client, at.session(client) as http:
        try:
            async with (
                asyncio.timeout(30),
                http.get(f"{at.url}/models", allow_redirects=False) as got,
            ):
                text = await got.text(errors="replace")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return fault_of(error).reason
    if got.status == 404:
        print("the endpoint has no list of models: the key is not checked yet", flush=True)
        return ""
    fault = fault_of_reply(got.status, text, got.headers, "", at, {})
    return fault.stops if fault else ""
