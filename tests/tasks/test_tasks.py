"""The protocol of tasks: what fits, final answers and verdicts, and a system made up here."""

import gzip
from dataclasses import replace

import pandas as pd
import pytest

from lib.analyze.stats import share_interval
from lib.analyze.tables import counted
from lib.core.records import Answer, Document, GivenAnswer, Query, Verdict
from lib.core.stages import SYSTEMS
from lib.core.store import REPOSITORY, BadInput, load, save
from lib.infer.prompts import GenerationConfig
from lib.structext.prompts import NO_ANSWER, Prompted, as_queries, prompts_for
from lib.structext.prompts import TASK as STRUCTEXT
from lib.structext.samples import generate
from lib.tasks.answering import Source, answers_of, opened, recall_table, shown_to, sources_of
from lib.tasks.task import final_answers, task_of, verdicts_of
from tests.conftest import run_cells
from tests.rows import answer as make_answer
from tests.rows import query as make_query
from tests.tasks.capitals.task import QUERIES
from tests.tiny_model import untrained

HOW = GenerationConfig(max_new_tokens_in_context=16)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Source:
    """A model with a context window of 128 tokens."""
    folder = untrained(tmp_path_factory.mktemp("model"), ["word and word again"] * 3, 128)
    return Source("local", str(folder))


def judged(task, queries, replies, rows) -> tuple[list[Answer], dict[str, str], dict[str, Verdict]]:
    finals = final_answers(task, queries, replies)
    verdicts = verdicts_of(task, queries, finals, rows, None, "scorer")
    return *finals, {row.query_id: row for row in verdicts}


def test_a_structured_text_that_does_not_fit_is_left_out_by_the_window_of_the_arm(source):
    sample = next(one for one in generate() if one.task == "tree.0")
    asked = [
        Prompted(
            sample=sample.model_copy(update={"id": f"q{n}", "reference": "word " * n}),
            setting="base",
            n_shots=0,
            demonstrations=(),
            prompt="",
        )
        for n in (5, 60, 300)
    ]
    queries = [
        make_query(one.query_id, answer="two words", context=one.sample.reference) for one in asked
    ]

    def shown(by: Source, window: int = 0):
        how = replace(HOW, max_new_tokens_in_context=1)
        return shown_to(by, STRUCTEXT, queries, {"asked": asked}, how, window)

    found = shown(source)
    assert [one.query_id for one in found.queries] == ["q5:base", "q60:base"] and not found.cut
    assert [row.rejected_text for row in found.too_long] == ["q300:base"]
    assert "do not fit in 128" in found.too_long[0].reason
    assert found.note.startswith("2 of 2 reference answers are longer than 1 tokens")
    small = shown(source, window=40)
    assert [row.rejected_text for row in small.too_long] == ["q60:base", "q300:base"]
    served = Source("endpoint", source.name)
    assert shown(served, window=40) == small, "a served folder's own tokenizer counts"
    assert shown(Source("endpoint", "gpt-4o")).queries == queries, "its window is not known"
    assert shown(Source("baseline", "")).queries == queries, "a reader has no window"


def test_structext_is_judged_by_its_final_answer_and_says_why_there_is_none():
    samples = list(generate(per_task=3))
    sample = next(one for one in samples if one.task == "csv.0")
    asked = [
        prompts_for([sample], setting, n_shots, samples)[0]
        for setting, n_shots in (("self-cot", 0), ("base", 0), ("few-shot", 1))
    ]
    queries, ids = as_queries(asked), [one.query_id for one in asked]
    right = sample.answer
    replies = [
        make_answer(right, ids[0]),
        make_answer(f"{right}\n</answer>\n\nB", ids[1]),
        make_answer("", ids[2]),
    ]
    answers, missing, verdicts = judged(STRUCTEXT, queries, replies, {"asked": asked})
    assert [row.answer for row in answers] == ["", right, ""]
    assert missing == {ids[0]: NO_ANSWER, ids[2]: "there is no reply"}
    assert [verdicts[name].verdict for name in ids] == ["incorrect", "correct", "incorrect"]
    assert [verdicts[name].reason for name in ids[::2]] == list(missing.values())
    with pytest.raises(ValueError, match=r"not in queries\.jsonl"):
        final_answers(STRUCTEXT, queries[:1], replies)


def test_a_system_made_up_here_runs_through_the_chain_to_a_table(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    monkeypatch.setitem(SYSTEMS, "capitals", "tests.tasks.capitals.task")
    save("world", "queries", QUERIES)
    run_cells("04_infer", study="world", task="capitals", arms=["look-up"], mode="solver")
    run_cells("05_judge", study="world", task="capitals", arms=["look-up"])
    verdicts = load("world", "verdicts", arm="look-up", judge="scorer")
    of_id = {row.query_id: row.verdict for row in verdicts}
    assert of_id["Tunis-1"] == "incorrect" and of_id["Tunis-2"] == "unscored"
    task = task_of("capitals")
    rows = pd.DataFrame([task.about(one, {}) | {"verdict": of_id[one.query_id]} for one in QUERIES])
    table = counted(rows.rename(columns={task.cluster: "cluster"}), [*task.groups])
    assert [*table.continent] == ["Europe", "Asia", "Africa"] and [*table.n] == [8, 8, 8]
    assert [*table.correct] == [5, 8, 6] and [*table.unscored] == [0, 0, 1]
    europe = rows[rows.continent == "Europe"]
    ends = share_interval(europe.verdict == "correct", europe.country)
    assert tuple(table.loc[0, ["low", "high"]]) == ends


def test_an_open_book_prompt_has_the_block_of_the_answer_and_nothing_else_of_the_record():
    text = "# T\n\nA pump has 3 valves.\n\n| part | n |\n| --- | --- |\n| seal | 5 |\n\nThe end.\n"
    start = text.index("| seal")
    query = make_query(answer="5", start=start, end=start + 12)
    rows = {"documents": [Document(document_id="d", title="T", path="", text=text)]}
    (asked,) = opened([query], rows)
    assert asked.context == ("| part | n |\n| --- | --- |\n| seal | 5 |\n\nQuestion: Who?\nAnswer:")
    with pytest.raises(BadInput, match="have their text"):
        opened([asked], rows)
    sources = sources_of(
        "s", ["base", "open"], "org/model", "", {"base": "model", "open": "open_book"}
    )
    assert sources["open"].name == "org/model" and sources["open"].is_open
    with pytest.raises(ValueError, match="'book' is unknown; choose among model, open_book"):
        sources_of("s", ["base"], "org/model", "", "book")
    with pytest.raises(ValueError, match="n_blocks is 0: mode retrieved needs 1 or more"):
        sources_of("s", ["retrieved"], "org/model", "", "retrieved", n_blocks=0)


def test_given_answers_are_of_the_same_arm_and_question_or_refused(tmp_path):
    file, queries = tmp_path / "a.jsonl.gz", [make_query("q2"), make_query("q1")]
    rows = [
        GivenAnswer(**vars(make_answer(f"{arm} {name}", name, arm)), question="Who?")
        for arm in ("dapt", "dapt-q")
        for name in ("q1", "q2", "q3")
    ]
    file.write_bytes(gzip.compress("".join(f"{row.model_dump_json()}\n" for row in rows).encode()))

    def given(arm: str, *asked: Query) -> list[str]:
        source = sources_of("s", [arm], "", "", "given", answers_file=str(file))[arm]
        shown = shown_to(source, task_of("spark"), asked, {}, HOW)
        found, _ = answers_of(arm, source, task_of("spark"), shown, {}, HOW, "s", None)
        return [row.answer for row in found]

    assert given("dapt-q", *queries) == ["dapt-q q2", "dapt-q q1"]
    others = make_query("q4"), make_query("q1", question="Why?")
    for arm, missing in zip(("base", "dapt", "dapt"), (queries[0], *others), strict=True):
        with pytest.raises(BadInput, match=f"has no answer of {arm} to {missing.query_id}, 'Wh"):
            given(arm, missing)
    with pytest.raises(ValueError, match="answers_file must name"):
        sources_of("s", ["dapt"], "", "", "given")


def test_retrieved_prompts_have_the_best_blocks_of_thirty_records_and_recall_counts_the_own_one():
    folder = REPOSITORY / "data/records"
    files = [*folder.glob("documents/*/*.md"), *folder.glob("pilot/*.md")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in files}
    documents = [Document(document_id=name, title="", path="", text=texts[name]) for name in texts]
    documents.sort(key=lambda one: one.document_id)
    queries = [
        make_query(question=question, document_id=name, structure=structure, start=start, end=start)
        for structure, name, words, question in (
            (
                "natural",
                "telegraf-passenger.md",
                "This plugin gathers metrics from the",
                "Which service does the Telegraf Passenger plugin gather metrics from?",
            ),
            (
                "tabular",
                "px4-h753-stamp.md",
                "| USART3 | /dev/ttyS1",
                "To which PX4 default function is USART3, /dev/ttyS1, assigned on the "
                "CBUnmanned H753-Stamp?",
            ),
            (
                "natural",
                "rook-prerequisites.md",
                "Architectures supported are",
                "On which CPU architectures can Rook run?",
            ),
        )
        if (start := texts[name].index(words))
    ]
    tables = [recall_table(queries, documents, n).set_index("structure") for n in (2, 3)]
    assert tables[0].n.to_dict() == {"natural": 2, "tabular": 1, "all": 3}
    found = [[*table.recall] for table in tables]
    assert found == [[0.5, 0, 1 / 3], [0.5, 1, 2 / 3]], "they are first, third and none of three"
    prose, table, *_ = opened(queries, {"documents": documents}, 3)
    assert prose.context.startswith("This plugin gathers metrics from the [Phusion Passenger]")
    assert prose.context.endswith(f"\n\nQuestion: {queries[0].question}\nAnswer:")
    assert "\n\n| UART   | Device       | PX4 Default" in table.context, "the header of the row"
    source = sources_of("s", ["retrieved"], "org/model", "", "retrieved")["retrieved"]
    rows = {"documents": documents}
    served = source._replace(kind="endpoint")
    assert shown_to(served, task_of("spark"), queries, rows, HOW).queries[:2] == [prose, table]
