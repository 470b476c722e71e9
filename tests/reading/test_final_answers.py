"""Final answers by what a study has, their reasons in the verdicts, and readers that need no model."""

import json

import pytest

from lib.core.files import write_records
from lib.core.paths import MissingInput, data_path
from lib.core.records import Answer, Query
from lib.reading.final_answers import final_answers, judged
from lib.reading.readers import NO_MEMORY, answer_by_rules
from lib.structext.ask.prompts import SETTINGS, as_queries, prompts_for
from lib.structext.ask.replies import NO_ANSWER, scored
from lib.structext.generate.samples import generate
from lib.structext.records import EXTRA_TASKS, TASKS
from lib.tablequest.records import Block, Cell, Grid, Passage, TableQuestion


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))


@pytest.fixture
def structext():
    """Two texts a task, in three settings: what was asked, as rows and as queries."""
    samples = list(generate(tasks=[*TASKS, *EXTRA_TASKS], per_task=3))
    asked = [one for setting, n_shots in (("base", 0), ("self-cot", 0), ("few-shot", 1))
             for one in prompts_for(samples, setting, n_shots)]
    write_records(data_path("s", "asked.jsonl"), asked)
    return asked, as_queries(asked)


def reply(query_id: str, text: str) -> Answer:
    return Answer(query_id=query_id, arm="base", answer=text, n_tokens=1, truncated=False)


def query(query_id: str, context: str) -> Query:
    return Query(query_id=query_id, document_id="f-p1", question="What were net sales in 2024?", answer="$12 million",
                 structure="tabular", source_reference="", start=0, end=0, entity_count=None, block_type="table",
                 context=context)


@pytest.fixture
def tablequest():
    """One table, one question on it, asked with the table and without."""
    cells = [Cell(text=text, value=value, unit="USD", scale=1e6) for text, value in (("$12", 12), ("$10", 10))]
    grid = Grid(grid_id="f-t01", filing_id="f", section="Results", caption="Net sales", unit_note="(in millions)",
                corner="", columns=("2024", "2023"), rows=("Net sales",), cells=(tuple(cells),), footnotes=(), html="")
    passage = Passage(passage_id="f-p1", filing_id="f", section="Results",
                      blocks=(Block(kind="table", text="", grid_id="f-t01"),))
    question = TableQuestion(question_id="q", chain_id="c", filing_id="f", passage_id="f-p1", level="easy",
                             kind="extraction", question="What were net sales in 2024?", answer="$12 million", steps=(),
                             cells={}, expression="", value=12, unit="USD", scale=1e6)
    for name, row in (("grids", grid), ("passages", passage), ("questions", question)):
        write_records(data_path("t", f"{name}.jsonl"), [row])
    return [query("q:recall", ""), query("q:html", "the passage")]


def test_without_prompts_of_its_own_a_study_s_replies_are_its_final_answers():
    replies = [reply("q", "<answer>2</answer>")]
    assert final_answers("plain", [query("q", "")], replies) == (replies, {})


def test_the_judge_of_structext_sees_the_final_answer_and_says_why_there_is_none(structext):
    asked, queries = structext
    (one,) = [row for row in asked if row.setting == "self-cot" and row.sample.task == "csv.0"][:1]
    others = [row for row in asked if row.sample == one.sample and row.setting != "self-cot"]
    queries = [row for row in queries if row.query_id in {row.query_id for row in [one, *others]}]
    right = one.sample.answer
    replies = [reply(one.query_id, right), reply(others[0].query_id, f"{right}\n</answer>\n\nB"),
               reply(others[1].query_id, "")]
    answers, missing = final_answers("s", queries, replies)
    assert [row.answer for row in answers] == ["", right, ""]
    assert missing == {one.query_id: NO_ANSWER, others[1].query_id: "there is no reply"}
    verdicts = {row.query_id: row for row in judged("s", queries, answers, missing)}
    assert [(verdicts[row.query_id].verdict, verdicts[row.query_id].reason) for row in replies if
            row.query_id in missing] == [("incorrect", NO_ANSWER), ("incorrect", "there is no reply")]
    assert verdicts[others[0].query_id].verdict == "correct"
    with pytest.raises(ValueError, match=r"not in queries\.jsonl"):
        final_answers("s", queries[:1], replies)


def test_the_solver_answers_every_question_of_structext_in_the_form_that_its_prompt_asks_for(structext):
    asked, queries = structext
    assert set(SETTINGS) >= {one.setting for one in asked}
    closed = query("closed", "")
    replies, unread = answer_by_rules("s", [closed, *queries], "solver")
    assert [row.query_id for row in replies] == [row.query_id for row in queries]
    assert {row.arm for row in replies} == {"solver"} and [row.reason for row in unread] == [NO_MEMORY]
    answers, missing = final_answers("s", queries, replies)
    assert not missing and [row.answer for row in answers] == [row.answer.strip() for row in queries]
    assert min(row.rouge_score for row in scored(asked, replies)) > 0.99


def test_what_the_solver_cannot_answer_is_an_empty_reply_in_its_place(structext):
    asked, queries = structext
    broken = asked[0].model_copy(update={"sample": asked[0].sample.model_copy(update={"question": "Why?"})})
    write_records(data_path("s", "asked.jsonl"), [broken, *asked[1:]])
    replies, _ = answer_by_rules("s", queries, "solver")
    assert [row.query_id for row in replies if not row.answer] == [queries[0].query_id]


def test_the_lexical_reader_answers_what_has_a_table_and_has_no_memory(tablequest):
    replies, unread = answer_by_rules("t", tablequest, "words")
    assert [(row.query_id, row.arm, json.loads(row.answer)["answer"]) for row in replies] == [
        ("q:html", "words", "$12 million")]
    assert [(row.item, row.reason) for row in unread] == [(tablequest[0].query_id, NO_MEMORY)]
    answers, missing = final_answers("t", tablequest, [*replies, reply("q:recall", "12.").model_copy(
        update={"arm": "words"})])
    assert [row.answer for row in answers] == ["$12 million", "12."] and not missing


def test_a_reply_without_json_says_so_in_the_verdict(tablequest):
    replies = [reply("q:html", "Net sales were {many}"), reply("q:recall", "$12 million")]
    answers, missing = final_answers("t", tablequest, replies)
    recalled, read = judged("t", tablequest, answers, missing)
    assert (recalled.verdict, read.verdict, read.reason) == ("correct", "incorrect", missing["q:html"])
    assert "JSON" in read.reason


def test_a_study_without_questions_to_read_has_no_reader():
    with pytest.raises(MissingInput, match="run 00_samples"):
        answer_by_rules("nothing", [], "solver")
