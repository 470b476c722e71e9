"""The two reading tasks: what fits, final answers and verdicts, and readers without a model."""

from dataclasses import replace

import pytest

from lib.core.files import artifact_path, write_records
from lib.core.records import Answer, Query, Verdict
from lib.infer.decoding import Decoding
from lib.lab.base_model import new_llama, train_tokenizer
from lib.reading.task import (
    Task,
    explained,
    final_answers,
    shown_to_model,
)
from lib.structext.ask.prompts import Prompted, as_queries, prompts_for
from lib.structext.ask.replies import NO_ANSWER
from lib.structext.generate.samples import generate
from lib.structext.records import TASKS
from lib.structext.task import TASK as STRUCTEXT

HOW = Decoding(max_read_tokens=16, is_ready=True)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    """A model with a context window of 128 tokens."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer(["word and word again"] * 3, 300)
    model = new_llama(tokenizer, hidden_size=16, layers=1, heads=2, context=128, seed=1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def structext():
    """Three texts per task in three prompt settings: rows of asked.jsonl, and their queries."""
    samples = list(generate(tasks=TASKS, per_task=3))
    asked = [one for setting, n_shots in (("base", 0), ("self-cot", 0), ("few-shot", 1))
             for one in prompts_for(samples, setting, n_shots)]
    write_records(artifact_path("s", "asked"), asked)
    return asked, as_queries(asked)


def query(query_id: str, context: str) -> Query:
    return Query(query_id=query_id, document_id="f-p1", question="What were net sales in 2024?",
                 answer="$12 million", structure="tabular", source_reference="", start=0, end=0,
                 entity_count=None, block_type="table", context=context)


def reply(query_id: str, text: str) -> Answer:
    return Answer(query_id=query_id, arm="base", answer=text, n_tokens=1, truncated=False)


def judged(task: Task, study: str, queries: list[Query],
           replies: list[Answer]) -> tuple[list[Answer], dict[str, str], dict[str, Verdict]]:
    answers, missing = final_answers(task, study, queries, replies)
    verdicts = explained(task.judged_by_rules(study, queries, answers), missing)
    return answers, missing, {row.query_id: row for row in verdicts}


def test_a_structured_text_that_does_not_fit_is_left_out_by_the_window_of_the_arm(source):
    texts = {f"q{size}": "word " * size for size in (5, 60, 300)}
    queries = [query(name, text) for name, text in texts.items()]
    (sample,) = generate(tasks=["tree.0"])
    asked = [Prompted(sample=sample.model_copy(update={"id": name, "reference": text}),
                      setting="base", n_shots=0, demonstrations=(), prompt="")
             for name, text in texts.items()]
    queries = [row.model_copy(update={"query_id": one.query_id})
               for row, one in zip(queries, asked, strict=True)]
    write_records(artifact_path("s", "asked"), asked)
    shown = shown_to_model(STRUCTEXT, "s", queries, source, HOW, is_local=True)
    assert [one.query_id for one in shown.queries] == ["q5:base", "q60:base"] and not shown.cut
    assert [row.item for row in shown.too_long] == ["q300:base"]
    assert "do not fit in 128" in shown.too_long[0].reason
    assert shown.note.startswith("0 of 2 reference answers are longer than 16 tokens")
    small = shown_to_model(STRUCTEXT, "s", queries, source, HOW, is_local=True, window=40)
    assert [row.item for row in small.too_long] == ["q60:base", "q300:base"]
    short = replace(HOW, max_read_tokens=1)
    note = shown_to_model(STRUCTEXT, "s", queries, source, short, is_local=True).note
    assert note.startswith("2 of 2 reference answers are longer than 1 tokens")
    served = shown_to_model(STRUCTEXT, "s", queries, source, HOW, is_local=False, window=40)
    assert served == small, "a served folder's own tokenizer counts"
    endpoint = shown_to_model(STRUCTEXT, "s", queries, "gpt-4o", HOW, is_local=False)
    assert endpoint.queries == queries, "its context window is not known"


def test_structext_is_judged_by_its_final_answer_and_says_why_there_is_none(structext):
    asked, queries = structext
    one = next(row for row in asked
               if row.setting == "self-cot" and row.sample.task == "csv.0")
    plain, shots = (row for row in asked if row.sample == one.sample and row != one)
    ids = [one.query_id, plain.query_id, shots.query_id]
    queries = [row for row in queries if row.query_id in ids]
    right = one.sample.answer
    replies = [reply(ids[0], right), reply(ids[1], f"{right}\n</answer>\n\nB"), reply(ids[2], "")]
    answers, missing, verdicts = judged(STRUCTEXT, "s", queries, replies)
    assert [row.answer for row in answers] == ["", right, ""]
    assert missing == {ids[0]: NO_ANSWER, ids[2]: "there is no reply"}
    assert [verdicts[name].verdict for name in ids] == ["incorrect", "correct", "incorrect"]
    assert [verdicts[name].reason for name in ids[::2]] == list(missing.values())
    with pytest.raises(ValueError, match=r"not in queries\.jsonl"):
        final_answers(STRUCTEXT, "s", queries[:1], replies)
