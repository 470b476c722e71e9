"""Appendix F on papers in Markdown: sentences cited, answers from tables alone, common tokens."""

import json

import pandas as pd
import pytest

from lib.core.errors import BadInput
from lib.llm.calls import Calls
from lib.tasks.tablequest.analyze.recall import faithfulness, recall_table
from tests.played_model import played, within

CITED = "Ours reaches an F1 of 71.2% on the test set."
PAPER = f"""# Reading Tables Aloud

## 3 Results

{CITED} The other is lower.

| Model | F1 |
| --- | --- |
| Ours | 71.2 |

## 4 Costs

| Model | Hours |
| --- | --- |
| Ours | 3 |
"""


def test_a_model_cites_a_sentence_and_answers_from_the_table_alone(monkeypatch, tmp_path):
    def reply_to(prompt: str) -> str:
        if within(prompt, "question"):
            return json.dumps({"answer": "Ours reaches an F1 of 71.2%, or more."})
        has_text = "lower" in within(prompt, "text")
        return json.dumps({"question": "What F1 does Ours reach?" if has_text else "How long?",
                           "sentence": CITED if has_text else "It takes 3 hours."})

    (tmp_path / "aloud.md").write_text(PAPER, encoding="utf-8")
    with played(reply_to, monkeypatch) as prompts:
        rows = faithfulness(tmp_path, "gpt-4o-mini", Calls(tmp_path / "llm.sqlite"))
    assert list(rows.paper) == ["aloud"] * 2
    assert rows.loc[0, ["n_found", "n_tokens", "missing"]].tolist() == [6, 8, ""]
    assert rows.missing[1] == "its sentence is not in the text"
    answering = [prompt for prompt in prompts if within(prompt, "question")]
    assert len(prompts) == 4 and not any("The other is" in prompt for prompt in answering)
    table = recall_table(rows).set_index("answer_length")
    assert table.loc["all", ["n", "mean", "of_tokens"]].tolist() == [1, 0.75, 0.75]
    assert table.loc["6–15", "n"] == 1 and table.loc["1–2", "n"] == 0


def test_recall_is_a_mean_over_answers_with_an_interval_over_papers():
    def table(n_papers: int) -> pd.Series:
        rows = [(f"p{n % n_papers}", 4, n % 2 * 4, "") for n in range(40)]
        return recall_table(pd.DataFrame(
            rows, columns=["paper", "n_tokens", "n_found", "missing"])).iloc[-1]

    apart, together = table(40), table(4)
    assert apart["mean"] == together["mean"] == 0.5
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_a_folder_without_a_table_says_what_to_put_there(tmp_path):
    with pytest.raises(BadInput, match="put papers there"):
        faithfulness(tmp_path, "any", Calls(tmp_path / "llm.sqlite"))
