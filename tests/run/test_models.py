"""Before a study starts: what its models cost at most, and whether their endpoint can be used."""

import gzip
import json
from types import SimpleNamespace

import pytest

from lib.core.store import BadInput, Stopped, data_path
from lib.llm import calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.run import study as runner
from lib.run.config import Study, load_study
from lib.run.study import announce
from tests.llm_server import Answer, Server

KEY = "sk-key-of-this-test-01"


@pytest.fixture
def study(study_file):
    """Return a function that loads a study of the laboratory with more keys."""

    def loaded(keys: str) -> Study:
        study_file(f"kind: lab\n{keys}\n")
        return load_study("own")

    return loaded


@pytest.fixture
def point(monkeypatch):
    """Return a function that sets the environment to a server and a key."""

    def to(server: Server | SimpleNamespace, key: str = KEY) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    return to


def test_the_limit_and_price_of_every_stage_with_a_model_are_printed(study, point, capsys):
    with Server(key=KEY) as server:
        point(server)
        server.odd["GET", "/v1/models"] = Answer({"data": [{"id": "gpt-4o"}]})
        announce(
            study(
                "annotator: gpt-4o-mini\njudge: gpt-4o-mini\n"
                "llm: {stages: {05_judge: {max_cost_usd: null}}}"
            )
        )
        first, second, third, last = capsys.readouterr().out.splitlines()
        assert [(call.method, call.path) for call in server.log] == [("GET", "/v1/models")]
        announce(study("llm: {concurrency: 3}"))
        assert len(server.log) == 1 and not capsys.readouterr().out, "no stage calls a model"
    assert first.startswith("01_annotate: gpt-4o-mini, $0.15") and "stops before $5.00" in first
    assert second.startswith("05_judge: gpt-4o-mini") and "max_cost_usd is null" in second
    assert third.startswith("pairs: gpt-4o-mini"), "notebooks that only read verdicts are not named"
    assert last.startswith("gpt-4o-mini is not in") and last.endswith(" gpt-4o")


def test_committed_replies_stand_in_for_a_key(study, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(runner, "REPOSITORY", tmp_path)
    own = study("annotator: shipped\nreplies: [replies.jsonl, more.jsonl.gz]")
    with pytest.raises(Stopped, match="replies.jsonl is missing: restore it"):
        announce(own)
    requests = [Request.ask("Which port?"), Request.ask("Which one?")]
    raw = json.dumps({"choices": [{"message": {"content": "7001"}, "finish_reason": "stop"}]})
    fields = {"model": "shipped", "raw": raw, "asked_at": "2026"}
    lines = [json.dumps(fields | {"request": one.body}).encode() for one in requests]
    (tmp_path / "replies.jsonl").write_bytes(lines[0])
    (more := tmp_path / "more.jsonl.gz").write_bytes(gzip.compress(lines[1])[:-9])
    with pytest.raises(BadInput, match="more.jsonl.gz is not a complete gzip file"):
        announce(own)
    more.write_bytes(gzip.compress(lines[1]))
    announce(own)
    assert "only replies that are cached are used" in capsys.readouterr().out
    replies = complete(requests, "shipped", calls.calls_for("own", "01_annotate"))
    assert [reply.text for reply in replies] == ["7001"] * 2


def test_a_missing_key_or_price_or_a_dead_server_is_told_before_anything_runs(
    study, point, capsys, monkeypatch
):
    judged = study("judge: gpt-4o-mini")
    with Server(key=KEY) as server:
        point(server, "sk-another-key-000001")
        with pytest.raises(Stopped, match="refuses the key.* 05_judge, pairs would call a model"):
            announce(judged)
        point(server)
        with pytest.raises(Stopped, match="no price of 'my-own' is known.*max_cost_usd: null"):
            announce(study("judge: my-own"))
        announce(study("judge: my-own\nllm: {max_cost_usd: null}"))
        assert "my-own, price unknown; without a limit" in capsys.readouterr().out
    with pytest.raises(Stopped, match="the endpoint is not there"):
        announce(judged)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(Stopped, match="no key is set"):
        announce(judged)
    data_path("own", "llm.sqlite").touch()  # all replies may be there
    announce(judged)
    assert "no key is set" in capsys.readouterr().out
