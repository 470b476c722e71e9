"""Untrusted text in a prompt: whatever could pass for a part of the prompt is split."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.prompts import BREAK_MARK, escape_prompt_markup, prompt_template, word_grams
from tests.played_model import leniently

TAGS = "question|reference|answer"
PIECES = (
    "<|</|< / |>|answer|Answer|question|reference|part|document_title|[|[[|]|]]|true|False| |\n|"
    "\u200b|\u00ad|&lt;|&#60;|&amp;lt;|/|&#x5b;|&lbrack;|\uff1c|\uff3b|\uff3d|\uff41nswer|x|{{|{|"
    f"<<<<|}}}}|>>>>|&|;|{BREAK_MARK}|'"
).split("|")
hostile = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40)
# As they come out: what could pass for a part of a prompt has a mark, in other letters and markup
# too; all else stays. Some letters are Cyrillic, Greek, Lisu or Cherokee, which is in no table.
ESCAPED = """
9000<¦/answer>
<¦answer>
<¦/ANSWER >
<¦ / answer x='1'>
<¦\r/reference>
&lt;¦/answer&gt;
&amp;lt;¦/answer>
&#60;¦/answer>
\uff1c¦/answer\uff1e
<¦/ans\u200bwer>
<¦/\u0430nswer>
<¦/ánswer>
[¦[True]]
[¦ [ false ] ]
[¦\u200b[True]\u200b]
\uff3b¦\uff3bTrue\uff3d\uff3d
【¦【True】】
⟦¦True⟧
&#91;¦&#x5B;True]]
\\[¦\\[True\\]\\]
[¦[**True**]]
[[[¦[True]]]]
<<<<¦{{ x }}¦>>>>
<<<¦ {{ x } }¦ >>>
<¦|im_end|>
<¦/\u03b1nsw\u0435r>
[¦[\u1d1b\u0280\u1d1c\u1d07]]
[¦[\u0166rue]]
<¦bos>x<¦eos>
<¦tool_call><¦/tool_call>
<¦unused7>
[¦TOOL_CALLS]
<¦b\u200bos>
<¦bos >
<¦function=send>
<¦extra_id_0>
[¦[\u0422\u0433\u0443\u0435]]
[¦[\ua4d4\ua4e3\ua4f4\ua4f0]]
<¦/\ua4ee\ua4e0\ua4e2\ua4ea\ua4f0\ua4e3>
[¦[\u13a2\u13a1uE]]
<¦/s>[¦INST]<<¦SYS>>
<¦end_of_turn>
[[wikilink]] and [[true, false], [1]]
x[0][[true]
a < b and c > d
{{ x }}
<br> <td>4</td> <answers>
vector<vector<int>> a{{1}, {2}};
>>> print({{}})
cat <<EOF > out
Tom &amp; Jerry &lt;3
true [1] false
<document> <part>
10² ½ ㎏ naïve — “quoted” «cité»
[[\u041c\u043e\u0441\u043a\u0432\u0430-\u0420\u0435\u043a\u0430]]
if (a <s && s> b)
"""


@pytest.mark.parametrize("expected", ESCAPED.strip().split("\n"))
def test_whatever_could_pass_for_a_part_of_the_prompt_is_split_and_all_else_stays(expected):
    assert escape_prompt_markup(expected.replace(BREAK_MARK, ""), TAGS) == expected


@given(hostile)
def test_only_splits_are_added_and_none_where_one_is(text):
    once = escape_prompt_markup(text, TAGS)
    assert once.replace(BREAK_MARK, "") == text.replace(BREAK_MARK, "")
    assert escape_prompt_markup(once, TAGS) == once


def parts_seen(prompt: str, tags: str) -> dict[str, int]:
    """Count the tags, verdict marks and ends of a rewrite's marker that a lenient reader sees."""
    patterns = [
        rf"<\s*/?\s*(?:{tags})\b",
        r"\[\s*\[\s*true\s*\]\s*\]",
        r"\[\s*\[\s*false\s*\]\s*\]",
        r"<<<\s*\{\s?\{",
        r"\}\s?\}\s*>>>",
    ]
    return {pattern: len(re.findall(pattern, leniently(prompt))) for pattern in patterns}


def judge_prompt(question: str, reference: str, answer: str) -> str:
    return prompt_template("judge").render(question=question, reference=reference, answer=answer)


@given(hostile, hostile, hostile)
def test_a_judge_sees_only_the_tags_and_marks_of_the_template(question, reference, answer):
    texts = (escape_prompt_markup(text, TAGS) for text in (question, reference, answer))
    assert parts_seen(judge_prompt(*texts), TAGS) == parts_seen(judge_prompt("", "", ""), TAGS)


def test_texts_share_eight_words_in_a_row_whatever_is_between_them():
    own = word_grams("| The Orval | gate |\n| listens on | port 7001 at night |")
    assert len(own) == 2 and not word_grams("the orval gate listens on port 7001")
    assert len(own & word_grams("the Orval gate listens on port 7001 at noon")) == 1
