"""Decide which headers and keys are attributes, of which "the <label>" can be asked (3.1)."""

import re

from lib.annotate.rules.grammar import has_clause, is_imperative, is_noun_phrase
from lib.annotate.rules.verbs import NOUN_LIKE, third_person
from lib.core.text import is_plural

# nouns that name an attribute; a key of a bullet must end in one, a table's header need not
_ATTRIBUTES = frozenset("""
access accuracy address age algorithm amount angle architecture area author backend bandwidth base
baud bit board bound brand buffer build capacity category certificate change character charset
chip class clearance clock code codec color colour command compatibility compiler compression
concurrency condition connection connector consumption content cost count country coverage creator
credential current database date day deadline delay density dependency depth designation
destination developer device diameter dimension direction directory display distance distribution
domain driver duration duty edition editor effect email encoding encryption endpoint engine
environment error expiration expiry extension factor family feature file flow folder font force
format frequency fuel function gain group guarantee hardness header height host hostname humidity
id identifier image impedance implementation inception inductance input interface interval ip
issue item key kind label language latency layout lead length level library licence license
lifetime limit line link list load location lock log maintainer manager manufacturer margin mass
material maturity maximum meaning measure medium memory method metric minimum mode model
modulation module mount name namespace network node noise number object offset operator option
order origin output owner package page parameter part password path payload period permission
phase pin pitch platform point polarity policy port position power precision prefix pressure price
priority processor product profile project property protocol provider publisher purpose quantity
queue radius range rank rate rating ratio reach reference region registry release replica
repository requirement resistance resolution resource response retention revision role root rule
runtime sample schedule schema scope section sector sensitivity sensor separator server service
session setting severity shape signal size slot socket source space span speed stability stage
standard state status step storage store strategy strength stride string style subject suffix
supplier supply support symbol synonym syntax system tag target temperature tenant term thickness
threshold throughput time timeout timestamp timezone title tolerance tool topic torque transport
trigger type unit update uri url usage user username uuid value variable vendor version viscosity
voltage volume warranty wavelength weight width window wire worker zone""".split())
# of these "the <label> of X" is idiomatic; another column is asked for by its header in quotes
_PLAIN = frozenset("""
address age baud board bandwidth capacity colour color current date default delay depth diameter
dimension duration format frequency height hostname id identifier interval licence license limit
mass maximum minimum mode model name number operator owner password path period port position power
precision pressure price protocol rank rate ratio resistance resolution role schema size speed
state status symbol syntax temperature timeout title torque type unit url user username vendor
version voltage volume weight width""".split())
_NOUN_ENDING = re.compile(r"\w{2}(?:tion|sion|ment|ance|ence|ity|ness|ship|ture)$")
_RESULTS = frozenset("""
action actions solution description explanation result results outcome behavior behaviour example
examples output sample reason comment comments note notes link links reference references see usage
more""".split())
_NOT_VALUE = re.compile(r"(?:n/?a|none|tbd|todo|unknown|same|ditto|see .*|[\Wx])*", re.I)
_MARKED = re.compile(r"\(\d\)$|^#!")  # by a note with a condition, or for a highlighter
ROLE = re.compile(r"\{[\w:-]+\}`|\{[{%]")  # of a site's builder
_STRAY = re.compile(r"(?:\s?(?:\[\^?\d+\]|[*†‡]))+$")


def is_attribute(label: str) -> bool:
    """Return whether "the <label>" names an attribute: a noun phrase whose head is a known noun.

    Adjectives ("Required"), verbs ("Maps to"), names ("Zap") and "Result", which depends on the
    row's other cells, are none.
    """
    words = re.sub(r"\s*\([^()]*\)$", "", label.strip()).split()
    if not 0 < len(words) <= 6 or not is_noun_phrase(" ".join(words)) or has_clause(label) or (
            re.search(r"['’]|\bexpected\b", label, re.I)):
        return False
    head = re.split(r"\s(?:of|for|in|per|on|at|to)\s", " ".join(words), maxsplit=1)[0]
    last = head.lower().rsplit(" ", 1)[-1]
    singular = re.sub(r"(?<=[^s])s$", "", re.sub(r"ies$", "y", last))
    is_known = last in _ATTRIBUTES or singular in _ATTRIBUTES or _NOUN_ENDING.search(singular)
    is_verb = is_imperative(words[0].lower()) and third_person(words[0].lower()) not in NOUN_LIKE
    return bool(is_known) and singular not in _RESULTS and last not in _RESULTS and not is_verb


def is_plain_attribute(label: str) -> bool:
    """Return whether "the <label> of X" reads well for any X: a known noun in the singular."""
    return is_attribute(label) and not is_plural(label) and (
        label.lower().rsplit(" ", 1)[-1] in _PLAIN)


def value_of(text: str, most: int = 10) -> str:
    """Return a cell's or bullet's value without a stray mark, "" if it is not one value.

    Several sentences, a clause, an unbalanced bracket and a placeholder are no value.
    """
    value = _STRAY.sub("", text.strip()).strip()
    if _MARKED.search(value):
        return ""
    if re.search(r"(?:^|\s)[^\W_]+\.$", value):  # of a word, not of a path or a prefix
        value = value[:-1]
    is_short = 0 < len(value.split()) <= most and not re.search(r"[.;!?]\s+\S", value)
    is_balanced = all(value.count(a) == value.count(b) for a, b in ("()", "[]", "{}", "<>")) or (
        " " not in value)
    is_closed = value.count('"') % 2 == 0 and value.count("`") % 2 == 0 and value[-1:] not in ",:("
    is_value = re.match(r"[^(,;:].*", value) and re.search(r"[^\W_]", value) and (
        not _NOT_VALUE.fullmatch(value))
    return value if is_short and is_balanced and is_closed and is_value else ""


def is_guessed(name: str, described: str) -> bool:
    """Return whether half of the words of a name are in its description."""
    own = name.rsplit(".", 2)[-2:] if "." in name else [name]  # the group of an option is no help
    parts = _parts(" ".join(own))
    heads = {word.lower()[:3] for word in re.findall(r"\w+", described)}
    return not parts or 2 * sum(part[:3] in heads for part in parts) >= len(parts)


def is_made_of(value: str, *known: str) -> bool:
    """Return whether a value is only what is known, put together: "AddRequest" of "Add"."""
    words = {part for text in known for part in _parts(text)}
    return bool(_parts(value)) and set(_parts(value)) <= words and not value.isdigit()


# Split a name into its words: "AuthUser_add2" -> ["auth", "user", "add", "2"]
def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]
