"""Verbs known to the question patterns, with their inflected forms."""

import re

_VERBS = """
accept allow apply assign avoid balance build carry cause check collect combine communicate comply
connect consist contain control convert cover create decrease define degrade deliver depend describe
detect determine disable display draw drop eliminate emit enable enforce enhance ensure execute
expect export expose feature fit focus generate handle have hold ignore implement improve include
increase indicate influence inherit keep last limit list listen lock log maintain manage mark
maximize mean measure minimize monitor mount need offer operate output perform permit power prevent
process produce protect provide query queue raise reach read receive record reduce refer remove
replace report represent require reset resist respond restart resume return run sample scale select
send serve set ship show signal simplify simulate specify stand start stop store supply support
switch take tolerate track transmit trigger update use verify wait weigh withstand work write
yield"""


def third_person(verb: str) -> str:
    """Inflect a verb: "store" -> "stores", "carry" -> "carries", "process" -> "processes"."""
    if verb == "have":
        return "has"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh)$", verb) else "s")


BASE: dict[str, str] = {form: verb for verb in _VERBS.split()
                        for form in (third_person(verb), verb)}  # form -> base
NEEDS_PREPOSITION = ("connect", "consist", "depend", "focus", "listen", "operate", "refer",
                     "respond", "run", "stand", "wait", "work")
# verbs whose form in "-s" is as often a plural noun: "displays attached to X"
_NOUN_LIKE = """
build cause control cover display drop export feature hold increase limit list lock log mark measure
mount need output permit power process produce query raise record report run sample scale set ship
show signal stand start stop store supply support switch take track trigger update use work
yield"""
_IRREGULAR = """
bought bound broken brought built chosen done drawn driven fed found given held hidden kept known
led left lost made meant met put read run seen sent set shown shut sold split taken told wired
written"""
_NOT_AN_ACTION = """
advised allowed based bed believed designed embed exceed feed hundred indeed intended interested
need proceed recommended red related seed speed supposed thought unused"""
NOUN_LIKE = frozenset(_NOUN_LIKE.split())
_ACTIONS, _NO_ACTIONS = frozenset(_IRREGULAR.split()), frozenset(_NOT_AN_ACTION.split())


def is_participle(word: str) -> bool:
    """Return whether `word` looks like a past participle of an action."""
    word = word.lower()
    is_regular = word.endswith("ed") and len(word) > 4 and word not in _NO_ACTIONS
    return is_regular or word in _ACTIONS
