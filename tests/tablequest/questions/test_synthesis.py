"""lib.tablequest.questions.synthesis*: three rounds in one chat with a played model over real HTTP, each pair checked."""

import json
import re
from collections.abc import Callable
from contextlib import contextmanager

import pytest

from lib.llm.calls import Calls
from lib.llm.request import Reply
from lib.tablequest.questions.by_model import questions_by_model
from lib.tablequest.questions.by_rules import questions_by_rules
from lib.tablequest.questions.check import by_id, verified
from lib.tablequest.questions.filter_by_model import kept, screened_by_model
from lib.tablequest.questions.model_replies import Cells, Ground, Unusable, read_pair
from lib.tablequest.questions.places import places
from lib.tablequest.questions.synthesis import synthesize
from lib.tablequest.records import CellRef
from tests.llm_server import Server
from tests.played_model import outside
from tests.tablequest_example import FILING, GRIDS, MARGINS, PASSAGES, SALES, grid

WHO = "Orsa Pumps, Inc., fiscal 2024:"
A = {"name": "a", "table": "T1", "row": "Pumps", "column": "2024"}
B = {"name": "b", "table": "T1", "row": "Pumps", "column": "2023"}
EASY = {"steps": ["Look at Pumps."], "question": f"{WHO} how high were net sales of pumps, in millions of US dollars?",
        "cells": [A], "expression": "a", "kind": "extraction", "answer": "$1,200 million"}
MEDIUM = {"steps": ["Divide."], "question": f"{WHO} by what percentage did net sales of pumps change from 2023?",
          "cells": [A, B], "expression": "(a - b) / b * 100", "kind": "percent change", "answer": "20.0%"}
HARD = {"steps": ["(a - b) / b * 100 = 20.0%"], "question": f"{WHO} what do net sales of pumps say about demand?",
        "cells": [A, B], "expression": "", "kind": "trend",
        "answer": "Net sales of pumps rose by 20.0% to $1,200 million. Demand came back."}
ONE_ROW = [SALES.model_copy(update={"rows": SALES.rows[:1], "cells": SALES.cells[:1]})]  # one chain
ROUNDS = [EASY, MEDIUM, HARD]
GROUND = Ground("c", FILING.filing_id, PASSAGES[0].passage_id, {"T1": SALES, "T2": MARGINS},
                Cells.of(places(FILING, GRIDS)))


@pytest.fixture
def calls(tmp_path) -> Calls:
    return Calls(tmp_path / "llm.sqlite")


@contextmanager
def chat(reply_to: Callable[[list[dict]], str], monkeypatch: pytest.MonkeyPatch):
    """The environment names an endpoint whose reply depends on the whole chat. Yields the chats in order of arrival."""
    chats: list[list[dict]] = []

    def reply(body: dict) -> str:
        chats.append(body["messages"])
        return reply_to(body["messages"])

    with Server(reply=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        yield chats


def told(messages: list[dict]) -> str:
    """The pair that a good model writes in this round."""
    said = "\n".join(message["content"] for message in messages if message["role"] == "user")
    return json.dumps(ROUNDS[max(map(int, re.findall(r"^Round (\d):", said, re.M))) - 1])


def asked(calls, per_level: int = 1, grids=GRIDS, keep=None):
    return questions_by_model([FILING], grids, PASSAGES[:1], "some-model", calls, per_level, keep=keep)


def test_three_rounds_are_one_chat_and_each_is_fed_the_pair_before(calls, monkeypatch):
    with chat(told, monkeypatch) as chats:
        questions, rejected = asked(calls)
        assert asked(calls) == (questions, rejected)  # from the cache
    assert [(row.level, row.kind, row.answer) for row in questions] == [
        ("easy", "extraction", "$1,200 million"), ("medium", "percent change", "20.0%"),
        ("hard", "trend", HARD["answer"])]
    assert rejected == [] and len({row.chain_id for row in questions}) == 1
    assert [verified(row, by_id(GRIDS)) for row in questions] == [""] * 3
    assert questions[1].value == pytest.approx(20) and (questions[1].unit, questions[0].scale) == ("%", 1e6)
    assert [[message["role"] for message in one] for one in chats] == [
        ["user", "assistant"] * number + ["user"] for number in range(3)]
    assert chats[2][:3] == chats[1] and chats[1][1]["content"] == json.dumps(EASY)
    assert EASY["question"] in chats[1][2]["content"] and "20.0%" in chats[2][4]["content"]
    assert "professor of corporate finance" in chats[2][4]["content"]
    assert calls.tally.repairs == 0 and calls.tally.new == 3


def test_a_passage_cannot_leave_its_tags(calls, monkeypatch):
    with chat(told, monkeypatch) as chats:
        asked(calls)
    assert "ignore all rules" not in outside(chats[0][0]["content"], ("passage",))
    assert "| Pumps | $1,200 |" in chats[0][0]["content"] and "</¦" not in chats[0][0]["content"][-60:]


def test_a_pair_that_fails_is_sent_back_once_with_the_reason_and_the_chat_goes_on_without_it(calls, monkeypatch):
    wrong = json.dumps({**MEDIUM, "answer": "25.0%"})

    def model(messages: list[dict]) -> str:
        if "Round 2" in messages[-1]["content"]:
            return wrong
        return json.dumps(MEDIUM) if "cannot be used" in messages[-1]["content"] else told(messages)

    with chat(model, monkeypatch) as chats:
        questions, rejected = asked(calls)
    assert [row.answer for row in questions] == ["$1,200 million", "20.0%", HARD["answer"]] and rejected == []
    assert "the answer says 25.0%, but (a - b) / b * 100 gives 20" in chats[2][-1]["content"]
    assert [message["content"] for message in chats[3] if message["role"] == "assistant"] == [
        json.dumps(EASY), json.dumps(MEDIUM)]
    assert calls.tally.repairs == 1


def test_a_chain_that_cannot_be_repaired_ends_and_every_round_keeps_its_reason(calls, monkeypatch):
    with chat(lambda messages: told(messages) if len(messages) == 1 else "I would rather not.", monkeypatch) as chats:
        questions, rejected = asked(calls, grids=ONE_ROW)
    assert [row.level for row in questions] == ["easy"] and len(chats) == 3
    assert [row.reason.split(":")[0] for row in rejected] == [
        'it holds no JSON object with the field "question"', "not asked, because the round before gave no question"]
    assert rejected[0].item == "I would rather not."


def test_the_same_question_from_another_chain_is_a_near_duplicate(calls, monkeypatch):
    with chat(told, monkeypatch):
        questions, rejected = asked(calls, per_level=2)
    assert len(questions) == 3 and len({row.chain_id for row in questions}) == 1
    assert len(rejected) == 3 * 4 and "nearly the same is asked already" in rejected[0].reason


def test_chains_begin_at_other_rows_and_passages(calls, monkeypatch):
    with chat(lambda messages: "no", monkeypatch) as chats:
        questions_by_model([FILING], GRIDS, PASSAGES, "some-model", calls, 6)
    first = [re.search(r'Ask about table (T\d), .*row "(.+?)"', one[0]["content"]).groups() for one in chats]
    assert len(set(first[:6])) == 6 and len({one[0]["content"].split("<passage>")[1] for one in chats[:6]}) == 3


def about_its_row(messages: list[dict]) -> str:
    """A pair on the row at which the chain begins; none of the row "Valves"."""
    row = re.search(r'begin your search at its row "(.+?)"', messages[0]["content"])[1]
    if row == "Valves":
        return "Nothing to ask."
    pair = json.loads(told(messages))
    values = {name: SALES.cells[SALES.rows.index(row)][column] for name, column in (("a", 0), ("b", 4))}
    change = f"{100 * (values['a'].value / values['b'].value - 1):.1f}%"
    figure = f"{values['a'].text.strip('$')} million"
    answer = {"extraction": figure, "percent change": change, "trend": f"By {change} to {figure}."}[pair["kind"]]
    cells = [one | {"row": row, "column": {"a": "2024", "b": "2022"}[one["name"]]} for one in pair["cells"]]
    return json.dumps(pair | {"cells": cells, "answer": answer, "steps": [f"(a - b) / b * 100 = {change}"],
                              "question": pair["question"].replace("net sales of pumps", row)})


def test_further_chains_are_asked_until_each_level_is_full_or_no_row_is_left(calls, monkeypatch):
    with chat(about_its_row, monkeypatch):
        questions, rejected = asked(calls, 3)
        assert [row.level for row in questions] == ["easy", "medium", "hard"] * 3
        dropped = []

        def keep(new):
            """The first hard question is dropped, whatever it is."""
            dropped.extend(row for row in new if row.level == "hard" and not dropped)
            return [row for row in new if row not in dropped], []

        kept_, rejected = asked(calls, 3, keep=keep)
        assert [row.level for row in kept_] == ["easy", "medium", "hard"] * 3 and dropped[0] not in kept_
        assert [row.reason for row in rejected if "already" in row.reason] == [
            "fits, but each level already has its 3 questions"] * 2  # of the chain that lost its hard one
        assert len(asked(calls, 9)[0]) == 3 * 4


def test_a_model_that_gives_nothing_is_not_asked_of_every_row(calls, monkeypatch):
    rows = "\n".join(f"Item {'abcdefghijklmnopqrstuvwxyz'[number]} | {number} | 1 | 2 | 3 | 4" for number in range(26))
    long = grid(1, SALES.section, "2024 | Change | 2023 | Change | 2022", rows)
    with chat(lambda messages: "no", monkeypatch):
        questions, rejected = asked(calls, 4, [long])
    assert questions == [] and rejected[-1].reason.startswith("not asked, as 5 more: the 20 chains before")


def test_without_calls_or_with_no_chain_it_says_what_to_give(calls):
    with pytest.raises(ValueError, match="some-model.*give `calls`"):
        questions_by_model([FILING], GRIDS, PASSAGES, "some-model", None)
    with pytest.raises(ValueError, match="per_level is 0"):
        questions_by_model([FILING], GRIDS, PASSAGES, "some-model", calls, 0)


@pytest.mark.parametrize(("level", "change", "reason"), [
    ("easy", {"cells": [{**A, "row": "Pump"}]}, "the row 'Pump' stands 0 times in table T1"),
    ("easy", {"cells": [{**A, "column": "Change"}]}, "the column 'Change' stands 2 times"),
    ("easy", {"cells": [{**A, "table": "T9"}]}, "there is no table 'T9': the tables are T1, T2"),
    ("easy", {"cells": []}, "empty"), ("easy", {"cells": "a"}, "the field 'cells' is wrong"),
    ("easy", {"cells": [A, A]}, "two cells have the same name"), ("easy", {"question": ""}, "empty"),
    ("easy", {"answer": "$1,300 million"}, "the answer says $1,300 million, but a gives 1,200, in USD × 1,000,000"),
    ("easy", {"answer": "$1,200"}, "the answer says $1,200"), ("easy", {"answer": "a lot"}, "the answer has no figure"),
    ("medium", {"expression": "__import__('os').getcwd()"}, "the expression cannot be computed"),
    ("medium", {"expression": "a / (b - b)"}, "divides by zero"), ("medium", {"answer": "0.2"}, "the answer says 0.2"),
    ("medium", {"kind": "total"}, "the kind 'total' is none of difference, percent change"),
    ("hard", {"kind": ""}, "the kind '' is none of trend, contrast")])
def test_a_pair_that_cannot_be_used_says_why(level, change, reason):
    pair = {**ROUNDS[("easy", "medium", "hard").index(level)], **change}
    with pytest.raises(Unusable) as error:
        read_pair(Reply(json.dumps(pair)), level, GROUND)
    assert reason in str(error.value)


@pytest.mark.parametrize(("pair", "value", "unit", "scale"), [
    ({**MEDIUM, "kind": "difference", "expression": "a - b", "answer": "$200 million"}, 200, "USD", 1e6),
    ({**MEDIUM, "kind": "difference", "expression": "a - b", "answer": "$0.2 billion"}, 200, "USD", 1e6),
    ({**MEDIUM, "kind": "ratio", "expression": "a / b", "answer": "1.20"}, 1.2, "", 1),
    ({**MEDIUM, "kind": "comparison", "expression": "max(a, b)", "answer": "2024"}, 1200, "USD", 1e6),
    ({**MEDIUM, "kind": "difference", "expression": "c - d", "answer": "1.7 percentage points", "cells": [
        {"name": name, "table": "T2", "row": "Gross margin percentage: Products", "column": column}
        for name, column in (("c", "2024"), ("d", "2023"))]}, 1.7, "percentage points", 1)])
def test_the_unit_of_a_calculation_is_the_answers(pair, value, unit, scale):
    question = read_pair(Reply(f"Here:\n```json\n{json.dumps(pair)}\n```"), "medium", GROUND)
    assert (question.value, question.unit, question.scale) == (pytest.approx(value), unit, scale)


def test_an_item_of_which_another_table_has_another_value_must_be_told_apart():
    twin = grid(7, "Item 8. Notes > Discontinued lines", "2024", "Pumps | 7")
    ground = Ground("c", FILING.filing_id, "p", {"T1": SALES}, Cells.of(places(FILING, [SALES, twin])))
    with pytest.raises(Unusable, match="name the section or table, such as 'Net sales by line'"):
        read_pair(Reply(json.dumps({**EASY, "question": f"{WHO} how high is pumps?"})), "easy", ground)
    question = {**EASY, "question": f"{WHO} in the table of net sales by line, how high is pumps?"}
    assert read_pair(Reply(json.dumps(question)), "easy", ground).cells == {
        "a": CellRef(grid_id=SALES.grid_id, row=0, column=0)}


def test_a_section_that_two_tables_share_does_not_tell_their_rows_apart():
    part = SALES.model_copy(update={"section": "Segments", "caption": "The table shows the Primary segment's lines:"})
    whole = grid(7, "Segments", "2024 Consolidated", "Pumps | $1,300")
    ground = Ground("c", FILING.filing_id, "p", {"T1": part}, Cells.of(places(FILING, [part, whole])))
    with pytest.raises(Unusable, match="'2024 Consolidated' of another table too.*such as \"Primary segment's"):
        read_pair(Reply(json.dumps({**EASY, "question": f"{WHO} segments, how high is pumps?"})), "easy", ground)
    told_apart = {**EASY, "question": f"{WHO} how high is pumps among the Primary segment's lines?"}
    assert read_pair(Reply(json.dumps(told_apart)), "easy", ground).answer == "$1,200 million"


def word(**said) -> str:
    return json.dumps({name: {"reason": f"{name} because.", "ok": said.get(name, True)}
                       for name in ("relevant", "reasonable", "valid")})


@pytest.mark.parametrize(("reply", "fault"), [
    (word(), ""), (word(valid=False), "not valid: valid because."),
    (word(relevant="no"), "not relevant: relevant because."),
    (word(reasonable="perhaps"), "not reasonable: no decision: reasonable because."),
    ("Fine with me!", "not relevant: no decision: the reply holds none"),
    ('{"relevant": true, "valid": {"ok": true}}', "not relevant: no decision")])
def test_the_filter_keeps_a_reason_for_each_question(reply, fault, calls, monkeypatch):
    questions, _ = questions_by_rules([FILING], GRIDS, PASSAGES, 1)
    with chat(lambda messages: reply, monkeypatch):
        screenings = screened_by_model(questions, [FILING], PASSAGES, by_id(GRIDS), "some-model", calls)
    assert all(row.fault.startswith(fault) and bool(row.fault) == bool(fault) for row in screenings)
    passed, rejected = kept(questions, screenings)
    assert len(passed) == (0 if fault else 3) and all(row.reason.endswith("(some-model)") for row in rejected)


def test_a_model_writes_and_filters_with_peoples_faults_as_examples(calls, monkeypatch):
    def model(messages: list[dict]) -> str:
        if not messages[0]["content"].startswith("You check a question"):
            return told(messages)
        return word(valid="should be hard" not in messages[0]["content"])

    with chat(model, monkeypatch) as chats:
        found = synthesize([FILING], ONE_ROW, PASSAGES[:1], "some-model", 1, calls=calls,
                           examples=("Wrong </faults> year.",))
    assert [row.level for row in found.questions] == ["easy", "medium"] and len(found.screenings) == 6
    assert [row.reason for row in found.rejected] == ["not valid: valid because. (some-model)"]
    assert all("year." in one[0]["content"] and "year." not in outside(one[0]["content"], ("faults",))
               for one in chats[3:])


def test_rules_need_no_model():
    found = synthesize([FILING], GRIDS, PASSAGES, per_level=2)
    assert len(found.questions) == 6 and {row.fault for row in found.screenings} == {""}
