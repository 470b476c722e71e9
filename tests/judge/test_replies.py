"""Sixty replies of a judge with their verdicts, written before the parser was looked at.

The grammar: the last line with any character other than a space is one offered mark and nothing
else. Its letters may be of either case, spaces may stand inside the brackets, and asterisks around
it (bold or italic type) do not count. Nothing above that line is read, except that a different
mark alone on the line directly above makes two verdicts. All else is unscored.
"""

import pytest

from lib.judge.model import verdict_in

CORRECT, INCORRECT, UNSCORED = "correct", "incorrect", "unscored"
CHOICES = {"first": "A", "second": "B", "tie": "tie"}

SINGLE = [
    # As the prompt demands.
    ("The port is 8443 in both.\n[[True]]", CORRECT),
    ("The port is 8443 in both, the answer says 443.\n[[False]]", INCORRECT),
    ("[[True]]", CORRECT),
    ("[[False]]", INCORRECT),
    ("The answer names the port.\n\n[[True]]", CORRECT),
    ("The answer names the port.\r\n[[False]]\r\n", INCORRECT),
    ("Right.\n   [[True]]   \n\n", CORRECT),
    # Letters, spaces and bold type.
    ("Right.\n[[true]]", CORRECT),
    ("Wrong.\n[[FALSE]]", INCORRECT),
    ("Right.\n[[ True ]]", CORRECT),
    ("Wrong.\n**[[False]]**", INCORRECT),
    ("Right.\n*[[true]]*", CORRECT),
    ("Wrong.\n** [[False]] **", INCORRECT),
    # Quoted or discussed verdicts above a verdict of the judge's own.
    ('The answer contains "[[True]]", which I ignore. It is wrong.\n[[False]]', INCORRECT),
    ("The answer ends with [[False]], but its port is right.\n[[True]]", CORRECT),
    ("The answer says:\n> [[True]]\nI ignore that. It names no port.\n[[False]]", INCORRECT),
    ("I thought of [[False]] first, but the unit is the same.\n[[True]]", CORRECT),
    ("[[False]]\nOn reflection the date is the same in another format.\n[[True]]", CORRECT),
    ("[[True]]\n[[True]]", CORRECT),
    # A verdict that the judge only quotes.
    ('The answer contains "[[True]]" as an instruction, which I ignore. It is wrong.', UNSCORED),
    ('It is wrong, although it says:\n"[[True]]"', UNSCORED),
    ("It is wrong, although it says:\n> [[True]]", UNSCORED),
    ("It is wrong, although it says:\n`[[True]]`", UNSCORED),
    ("I ignore [[True]].", UNSCORED),
    # More than the mark on the last line.
    ("The port is right. [[True]]", UNSCORED),
    ("Verdict: [[True]]", UNSCORED),
    ("Wrong.\nFinal verdict: [[False]]", UNSCORED),
    ("Wrong.\n[[False]].", UNSCORED),
    ("Right.\n[[True]] because the port agrees", UNSCORED),
    ("Wrong.\n- [[False]]", UNSCORED),
    ("Wrong.\n1. [[False]]", UNSCORED),
    ("Wrong.\n# [[False]]", UNSCORED),
    ("Right.\n```\n[[True]]\n```", UNSCORED),
    ("Not [[True]]", UNSCORED),
    # The mark is not on the last line.
    ("[[True]]\nThe answer names the port.", UNSCORED),
    ("Right.\n[[True]]\nLet me know if you have further questions.", UNSCORED),
    # Two verdicts.
    ("Right.\n[[True]] [[False]]", UNSCORED),
    ("[[True]] or rather [[False]]", UNSCORED),
    ("Right.\n[[True]][[True]]", UNSCORED),
    ("Hard to say.\n[[True]]\n[[False]]", UNSCORED),
    ("Hard to say.\n[[False]]\n\n**[[True]]**", UNSCORED),
    # No mark at all.
    ("", UNSCORED),
    ("The answer is correct.", UNSCORED),
    ("Right.\nTrue", UNSCORED),
    ("Right.\n[True]", UNSCORED),
    ("Right.\n[[True]", UNSCORED),
    ("Right.\n[[Correct]]", UNSCORED),
    ("Right.\n[[Yes, True]]", UNSCORED),
    ("Neither.\n[[Tie]]", UNSCORED),
    ("Right.\n\uff3b\uff3bTrue\uff3d\uff3d", UNSCORED),
]

PAIRWISE = [
    ("The first names the port, the second none.\n[[First]]", "A"),
    ("Only the second is right.\n**[[second]]**", "B"),
    ("Both are wrong.\n[[TIE]]", "tie"),
    ("[[First]] or rather [[Second]]", UNSCORED),
    ("[[First]]\nNo: its unit is wrong.\n[[Second]]", "B"),
    ('The second answer asks for "[[Second]]", which I ignore.\n[[First]]', "A"),
    ('The second answer asks for "[[Second]]", which I ignore. The first is better.', UNSCORED),
    ("[[First]]\n[[Tie]]", UNSCORED),
    ("Equal.\n[[Tie]]: neither is better", UNSCORED),
    ("Both are right.\n[[True]]", UNSCORED),
]


def test_there_are_sixty_replies():
    assert len(SINGLE) + len(PAIRWISE) == 60
    assert len(dict(SINGLE)) + len(dict(PAIRWISE)) == 60


@pytest.mark.parametrize(("reply", "expected"), SINGLE)
def test_one_answer_is_judged_by_a_mark_alone_on_the_last_line(reply, expected):
    verdict, reason = verdict_in(reply)
    assert verdict == expected
    assert reason or reply in ("[[True]]", "[[False]]", "[[True]]\n[[True]]")


@pytest.mark.parametrize(("reply", "expected"), PAIRWISE)
def test_two_answers_are_compared_by_a_mark_alone_on_the_last_line(reply, expected):
    verdict, reason = verdict_in(reply, CHOICES)
    assert verdict == expected
    assert reason
