"""The two reading tasks: what fits, final answers and verdicts, and readers without a model."""

import json
from dataclasses import replace

import pytest

from lib.core.files import artifact_path, write_records
from lib.core.paths import MissingInput
from lib.core.records import Answer, Query, Verdict
from lib.infer.answers import Decoding
from lib.lab.base_model import new_llama, train_tokenizer
from lib.reading.task import (
    NO_MEMORY,
    Task,
    answers_by_rules,
    explained,
    final_answers,
    shown_to_model,
)
from lib.structext.ask.prompts import Prompted, as_queries, prompts_for
from lib.structext.ask.replies import NO_ANSWER, scored
from lib.structext.generate.samples import generate
from lib.structext.records import TASKS
from lib.structext.task import TASK as STRUCTEXT
from lib.tablequest.records import Block, Cell, Grid, Passage, TableQuestion
from lib.tablequest.task import TASK as TABLEQUEST

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


@pytest.fixture
def tablequest() -> list[Query]:
    """One question on one table, asked without the table and with it."""
    cells = [Cell(text=f"${value}", value=value, unit="USD", scale=1e6) for value in (12, 10)]
    grid = Grid(grid_id="f-t01", filing_id="f", section="Results", caption="Net sales",
                unit_note="(in millions)", corner="", columns=("2024", "2023"),
                rows=("Net sales",), cells=(tuple(cells),), footnotes=(), html="")
    passage = Passage(passage_id="f-p1", filing_id="f", section="Results",
                      blocks=(Block(kind="table", text="", grid_id="f-t01"),))
    question = TableQuestion(question_id="q", chain_id="c", filing_id="f", passage_id="f-p1",
                             level="easy", kind="extraction", answer="$12 million", steps=(),
                             question="What were net sales in 2024?", cells={}, expression="",
                             value=12, unit="USD", scale=1e6)
    for name, row in (("grids", grid), ("passages", passage), ("questions", question)):
        write_records(artifact_path("t", name), [row])
    return [query("q:recall", ""), query("q:html", "<passage>\n" + "word " * 200 + "\n</passage>")]


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


def test_a_passage_that_does_not_fit_is_cut(source, tablequest):
    shown = shown_to_model(TABLEQUEST, "t", tablequest, source, HOW, is_local=True)
    assert shown.queries[0] == tablequest[0] and shown.cut == shown.queries[1:]
    assert shown.cut[0].context.startswith("<passage>\nword") and not shown.too_long
    assert len(shown.cut[0].context) < len(tablequest[1].context)


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


def test_the_solver_answers_every_question_of_structext_in_the_form_of_its_prompt(structext):
    asked, queries = structext
    replies, unread = answers_by_rules(STRUCTEXT, "s", [query("closed", ""), *queries], "solver")
    assert [row.query_id for row in replies] == [row.query_id for row in queries]
    assert {row.arm for row in replies} == {"solver"}
    assert [(row.item, row.reason) for row in unread] == [("closed", NO_MEMORY)]
    answers, missing = final_answers(STRUCTEXT, "s", queries, replies)
    assert not missing
    assert [row.answer for row in answers] == [row.answer.strip() for row in queries]
    assert min(row.rouge_score for row in scored(asked, replies)) > 0.99


def test_where_the_solver_fails_the_reply_is_empty(structext):
    asked, queries = structext
    sample = asked[0].sample.model_copy(update={"question": "Why?"})
    broken = asked[0].model_copy(update={"sample": sample})
    write_records(artifact_path("s", "asked"), [broken, *asked[1:]])
    replies, _ = answers_by_rules(STRUCTEXT, "s", queries, "solver")
    assert [row.query_id for row in replies if not row.answer] == [queries[0].query_id]


def test_the_lexical_reader_answers_what_has_a_table_and_has_no_memory(tablequest):
    replies, unread = answers_by_rules(TABLEQUEST, "t", tablequest, "base")
    assert [(row.query_id, json.loads(row.answer)["answer"]) for row in replies] == [
        ("q:html", "$12 million")]
    assert [(row.item, row.reason) for row in unread] == [("q:recall", NO_MEMORY)]
    replies.append(reply("q:recall", "12."))
    answers, missing = final_answers(TABLEQUEST, "t", tablequest, replies)
    assert [row.answer for row in answers] == ["$12 million", "12."] and not missing


def test_a_reply_without_json_says_so_in_the_verdict(tablequest):
    replies = [reply("q:html", "Net sales were {many}"), reply("q:recall", "$12 million")]
    _, missing, verdicts = judged(TABLEQUEST, "t", tablequest, replies)
    assert verdicts["q:recall"].verdict == "correct"
    assert verdicts["q:html"].verdict == "incorrect" and "JSON" in missing["q:html"]
    assert verdicts["q:html"].reason == missing["q:html"]


@pytest.mark.parametrize("task", [STRUCTEXT, TABLEQUEST])
def test_a_study_without_the_tasks_files_says_what_to_run(task):
    with pytest.raises(MissingInput, match="00_samples|01_questions"):
        answers_by_rules(task, "nothing", [], "solver")
