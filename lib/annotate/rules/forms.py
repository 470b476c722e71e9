"""Forms of a simple clause, each with the question that asks for its fact (paper, 3.1)."""

import re
from functools import cache

from lib.annotate.rules.verbs import FORMS, NOUN_LIKE

ADVERB = r"(?:(?:now|currently|typically|usually|generally|always|normally|automatically) )?"
VERSION = r"(?:version |release )?v?\d+(?:\.\d+)+[\w.-]*"
_NAME = r"(?:[A-Z][\w./+-]*|\S*[\d_][\w./+-]*)"
_NAMES = rf"{_NAME}(?:,? (?:and |or )?{_NAME})*"  # "RFC3164, RFC5424 and GELF"
# what a thing supports, uses or contains is often several things: no object of these is asked for
BROAD = frozenset("""
support use provide contain include offer have need require allow enable let make help give get take
do want ensure improve affect involve feature work begin become exist seek try go come say live
tell ask show instruct associate assign attach combine compare connect map bind transfer move add
copy"""
                   .split())

# A clause, its question and its answer. Groups: s the subject, v the answer, o an object, r the
# rest of a clause, done a participle, verb a finite verb; {do} {base} ask for it.
_CLAUSES = (
    (r"(?P<s>.+?) (?P<be>is|are) (?P<how>limited|restricted|compatible|equivalent|responsible) "
     r"(?P<prep>to|with|for) (?P<v>.+)", "what {be} {s} {how} {prep}?", "{v}"),
    (r"(?P<s>.+?) (?P<modal>can|may|must|should|CAN|MAY|MUST|SHOULD) be (?P<done>\w+) "
     r"(?P<w>(?:by|via|using|through|with) (?:\w+ing )?)(?P<v>.+)",
     "how {modal} {s} be {done}?", "{w}{v}"),
    (r"(?P<s>.+?) (?P<be>is|are) used to (?P<r>[a-z]+ .+)",
     "what {be} {s} used to do?", "{r}"),
    (r"(?P<s>.+?) (?P<verb>uses?) (?P<v>.+?) to (?P<r>[a-z]+ .+)",
     "what {do} {s} use to {r}?", "{v}"),
    (rf"(?P<s>.+?) (?P<verb>{{forms}}) (?:the )?(?P<w>{_NAMES}) (?P<o>[a-z][a-z -]*s)",
     "which {o} {do} {s} {base}?", "{w}"),
    (rf"(?P<s>.+?) (?P<verb>{{forms}}) (?P<what>version|release|port) (?P<w>{VERSION}|\d+)"
     r"(?P<tail>(?: of .+)?)", "which {what}{tail} {do} {s} {base}?", "{w}"),
    (rf"(?P<s>.+?) (?P<now>{ADVERB})(?P<verb>uses?|requires?) (?P<w>{_NAMES})",
     "what {do} {s} {now}{base}?", "{w}"),
    (rf"(?P<s>.+?) (?P<modal>must|MUST) {ADVERB}(?P<verb>{{bases}}) (?P<v>.+)",
     "what {modal} {s} {base}?", "{v}"),
    (rf"(?P<s>.+?) (?P<modal>should|SHOULD|will) {ADVERB}(?P<verb>{{narrow}}) (?P<v>.+)",
     "what {modal} {s} {base}?", "{v}"),
)


@cache
def clause_forms() -> list[tuple[re.Pattern[str], str, str]]:
    """Return (pattern, question, answer) of each form, with the verbs filled in."""
    forms = "|".join(sorted({form for form in FORMS if form not in NOUN_LIKE}
                            | {"uses", "supports", "returns", "accepts", "requires"}))
    bases, narrow = ("|".join(sorted(set(FORMS.values()) - left_out))
                     for left_out in (set(), BROAD))
    found = []
    for pattern, core, answer in _CLAUSES:
        for name, verbs in (("{forms}", forms), ("{bases}", bases), ("{narrow}", narrow)):
            pattern = pattern.replace(name, verbs)
        found.append((re.compile(pattern, re.S), core, answer))
    return found
