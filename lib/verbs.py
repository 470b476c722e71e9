"""The verbs that the question patterns know, and how they bend."""

import re

_PLAIN = ("accept allow apply assign avoid balance build carry check cause collect combine connect contain control convert cover "
          "create define depend describe detect determine disable display enable enforce ensure execute expect export expose "
          "decrease degrade eliminate enhance increase influence maximize minimize queue drop raise yield consist simulate "
          "feature focus generate handle hold implement improve include indicate inherit keep limit list listen lock log mean ignore "
          "maintain manage mark measure monitor mount need offer operate output perform permit power prevent process produce "
          "protect provide query read receive record reduce refer remove replace report represent require reset "
          "respond restart resume return run sample scale select send serve set ship show signal simplify specify stand start "
          "stop store supply support switch take track transmit trigger update use verify wait weigh work write").split()


def third_person(verb: str) -> str:
    """"store" -> "stores", "carry" -> "carries", "process" -> "processes"."""
    if verb == "have":
        return "has"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh)$", verb) else "s")


BASE: dict[str, str] = {form: verb for verb in (*_PLAIN, "have") for form in (third_person(verb), verb)}  # form -> base

NEEDS_PREPOSITION = frozenset(("work", "listen", "depend", "refer", "stand", "focus", "operate", "respond", "wait", "connect",
                               "run", "consist"))
# Verbs whose "-s" is as often a plural noun: "displays attached to X".
NOUN_LIKE = frozenset(("build cause control cover display drop export feature hold increase limit list lock log mark measure "
                       "mount need output permit power process produce query raise record report run sample scale set ship show "
                       "signal stand start stop store supply support switch take track trigger update use work yield").split())

_IRREGULAR = frozenset("built bound broken brought bought chosen done drawn driven fed found given held hidden kept known led left "
                       "lost made meant met put read run seen sent set shown shut sold split taken told written wired".split())
_NOT_DONE = frozenset("need speed feed seed embed red bed exceed proceed indeed hundred unused based related "
                      "interested supposed allowed advised recommended designed intended thought believed".split())


def is_participle(word: str) -> bool:
    """Whether `word` looks like a past participle of an action."""
    word = word.lower()
    return word in _IRREGULAR or (word.endswith("ed") and len(word) > 4 and word not in _NOT_DONE)
