"""The words of a question, which a right answer may repeat, and English words by their role."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lib.core.units import unit_of
from lib.core.values import Token, folded, in_unit, tokens


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _map_of(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


# Words that join a restatement to the value: "The default port of X is 8443."
CONNECTORS = words_of(
    "is are was were be been being am it's that's of has have had uses use using used supports "
    "support requires require needs need runs run on in by to at with from as for equals includes "
    "include including contains contain comes comprises comprise named called via under into over "
    "through per also namely says carries carry offers offer provides provide features consists "
    "gives shows employs gets get got")
_NEUTRAL = words_of(
    "it its this these that those they them their he she we you your i there here which what a an "
    "the answer value values following set default can may must should will would shall do does "
    "did always usually normally typically generally currently exactly only simply automatically "
    "both all each every respectively too well first second third fourth fifth sixth firstly "
    "secondly thirdly next then finally lastly last additionally furthermore moreover plus "
    "according documentation manual guide datasheet specification document documents text source "
    "record section table row column entry still list lists listed given stated states specified "
    "specifies defined known "
    "directory folder file path located found stored kept shown described written available "
    "so due per period total amount figure quantity just "
    "part item items once times think believe yes sure certainly course okay ok correct based out "
    "up down version release code number model type tcp udp http https")
_DAYS = words_of("monday tuesday wednesday thursday friday saturday sunday")
FILLERS = CONNECTORS | _NEUTRAL
NEGATIONS = words_of(
    "not no never without except excluding excludes besides nor neither none nothing cannot "
    "isn't aren't wasn't weren't doesn't don't didn't can't won't hasn't haven't shouldn't mustn't "
    "unsupported unavailable fails failed lacks lack unlike instead rather "
    "wrong incorrect false untrue hardly unless unable impossible refuses rejects prevents "
    "forbids prohibits blocks lacking")
HEDGES = words_of("or either maybe perhaps possibly probably likely might could presumably and/or "
                "guess unsure unclear unknown depending depends approximately roughly / & +")
PAST = words_of("formerly previously originally former deprecated obsolete")
FORMER = words_of("formerly previously earlier old older until before replaced replaces former "
                 "originally longer deprecated obsolete removed dropped")
LIMITS = words_of("least most than over above below under about around nearly almost between minus")
RETRACTIONS = words_of("or wait actually correction sorry rather alternatively otherwise but "
                       "however")
EXCLUDING = NEGATIONS | FORMER  # a value behind one of these is not the one offered
DENIALS = NEGATIONS - words_of("without except excluding besides unless unlike rather") | words_of(
    "replaced deprecated obsolete closed blocked planned removed dropped")
# "8443 for TLS" is 8443: a clause after a value, and after a name
CLAUSES = words_of("for on at when while which because by with since before after until if in as "
                 "where who that from of via using so during under without")
NAME_CLAUSES = words_of("when while because which that who where if in at as by since before after "
                      "using via during so")
BE = words_of("is are was were be been has have had")
REMARKING = CLAUSES | BE | words_of("can may must should will also goes go comes both then")
VERBS = words_of("it this that is are can may has was must should will cannot they you does do "
                 "then were have had would which")  # "8443 and it can be changed"
SMALL_WORDS = FILLERS | NEGATIONS | HEDGES  # carry no information of their own

LINKING = words_of("must should shall will because owing due a an the is are was were be been "
                   "being am has have had it its their they this that there which becomes become "
                   "gets goes comes so and when if")
PREPOSITIONS = words_of("of in on at to by with from as for into through per via within")
TURNING = (NEGATIONS | HEDGES | LIMITS | words_of("before after until only")) - {"&", "+"}

# A sentence with the other word of a pair is about something else.
_LEAST = "minimum min lowest smallest shortest oldest earliest".split()
_MOST = "maximum max highest largest longest newest latest".split()
_PAIRS = (*(f"{one} {other}" for one in _LEAST for other in _MOST), "lower upper", "low high",
          "input output", "inlet outlet", "first last", "source destination", "read write",
          "client server", "internal external", "primary secondary", "left right", "front rear",
          "red green", "top bottom", "inner outer", "start stop", "start end", "public private",
          "send receive", "plain encrypted", "old new", "upstream downstream", "inside outside",
          "optional required", "hot cold", "enabled disabled",
          "open closed", "opened closed", "open shut", "opened shut",
          "running stopped", "included excluded", "on off", "allowed forbidden", "allowed denied",
          "locked unlocked", "accepted rejected", "increase decrease", "before after",
          "above below", "enable disable", "open close", "opens closes")
# An amount with one of these is another amount than the one without.
MODIFIERS = words_of("minimum maximum min max average mean total recommended initial previous "
                     "former peak nominal rated test next lowest highest longest shortest "
                     "smallest largest")
_OPPOSITES: dict[str, set[str]] = {}
for _pair in _PAIRS:
    _one, _other = _pair.split()
    _OPPOSITES.setdefault(_one, set()).add(_other)
    _OPPOSITES.setdefault(_other, set()).add(_one)

_PLACED = words_of("under over or")
_PRESENT, _PAST = words_of("is are does do"), words_of("was were did has have been")
_INTERROGATIVES = words_of("what which who whom whose when where why how many much long often far "
                         "often old large big name")
_PLURALS = _map_of(
    "leaves leaf knives knife feet foot men man women woman children child people person "
    "teeth tooth mice mouse shelves shelf halves half lives life indices index matrices "
    "matrix vertices vertex criteria criterion")
_ENDINGS = tuple(map(re.compile, (r"(?:'?s)$", r"(?<=[a-z]{5})(?:[ai]ble|ment|al|ance)$",
                                  r"(?:ing|ed|ie)$", r"(?:er|or|ion|e|y)$")))
_IRREGULAR = _map_of(
    "size big large big weight weigh length long height high width wide depth deep made mak "
    "sent send kept keep held hold wrote writ written writ ran run took tak taken tak begun "
    "begin began begin built build lies lie licence licens cost pric costs pric fed feed led "
    "lead sold sell paid pay grown grow drawn draw shown show known know cut cut driven driv "
    "given giv worn wear retention retain maintenance maintain expiry expir mass weigh need "
    "requir needs requir needed requir")
_IRREGULAR |= dict.fromkeys(_LEAST, "minimum") | dict.fromkeys(_MOST, "maximum")
# Verbs that are one act in technical texts, by their stems
_SYNONYMS = {other: one for one, *others in map(str.split, (
    "flash blink", "mov transf transfer", "delet remov eras", "show display", "creat generat",
    "reduc decreas cut", "keep retain", "calculat comput", "sav stor", "consum us consumpt usag",
    "permit allow", "repair fix", "clos shut", "choos select", "buy purchas", "begin start"))
    for other in others}
_AUXILIARIES = words_of("is are was were does do did can may must will should has have could")
_ATTRIBUTE = re.compile(r"\b(?:what|which) (?:is|are|was|were) (?:the )?(.+?)"
                        r"(?= (?:of|for|in|on|at|to|by|under)\b|\?|$)", re.I)
_SEVERAL = re.compile(r"\bwh(?:at|o|ich)(?: \S+)? (?:are|were)\b"
    r"|\b(?:which|what) (?:\S+ ){0,3}?(?!does )\S{3,}(?<![sui])s |\b(?:list|name)\b(?: all)? the\b",
    re.I)
_ASKED_UNIT = re.compile(r"(?:\bin |\(|\bhow many |\bnumber of )"
                         r"(%|°?[A-Za-zμΩ][A-Za-z0-9μΩ·/]*)", re.I)


@dataclass(frozen=True)
class Question:
    """What the judge reads in a question."""

    unit: str  # that it asks for, or ""
    allowed: frozenset[str]  # stems and numbers that a restatement may repeat, and fillers
    topic: frozenset[str]  # stems of its content words and verbs
    is_present: bool  # it asks what is, so what was is another value
    needed: frozenset[str]  # stems of what it asks about, for a sentence in other words
    opposites: frozenset[str]  # words that would make a sentence one about something else
    words: frozenset[str]  # as written, in lower case
    is_plural: bool  # it asks for several things
    is_polar: bool  # it asks for yes or no
    is_attribute: bool  # it asks what the … of something is
    has_act: bool  # and the attribute is named after an act: "melting point"
    before: dict[str, str]  # stems of words after another, with that one: "light": "amber"
    after: dict[str, str]  # and the other way round

    def read(self, text: str) -> list[Token]:
        """Return the tokens of `text`, numbers in the unit that is asked for."""
        found = _summed(tokens(text))
        return [in_unit(token, self.unit) for token in found] if self.unit else found

    def allows(self, token: Token) -> bool:
        """Return whether a restatement may have this token: a word of the question, a filler."""
        if not token.is_solid:
            return True
        word = token.text.casefold() if token.kind == "number" else token.word
        return word in FILLERS or word in self.words or (
            token.kind == "word" and all(stem(part) in self.allowed or part in FILLERS
                                         for part in word.split("-")))

    def restates(self, word: str) -> bool:
        """Return whether a word only restates the question, or fills."""
        return word not in TURNING and (word in FILLERS or stem(word) in self.allowed)


@lru_cache(512)  # every arm's answer to it is judged
def question_of(question: str) -> Question:
    """Read a question."""
    found = tokens(question)
    written = {token.word if token.kind == "word" else token.text.casefold()
               for token in found if token.is_solid}
    stems = {stem(token.value) for token in found
             if token.kind == "word" and token.value not in NEGATIONS}
    solid = [token for token in found if token.kind == "word"]
    asked = folded(question)
    attribute = _ATTRIBUTE.search(asked)
    topic = [token for token in tokens(attribute[1] if attribute else asked)
             if token.kind == "word" and is_plain(token)]
    needed = {stem(token.value) for token in topic
              if token.value not in FILLERS | _INTERROGATIVES | NEGATIONS | {"and", "or"}}
    main = {stem(token.word) for token in solid if token.value not in
            _NEUTRAL | _INTERROGATIVES | NEGATIONS | LINKING | PREPOSITIONS | _PLACED
            and is_plain(token)}
    content = [stem(token.word) if token.word not in FILLERS | _INTERROGATIVES
               | LINKING | PREPOSITIONS and token.kind == "word" else "" for token in found]
    pairs = [pair for pair in zip(content, content[1:], strict=False) if all(pair)]
    stems_written = set(map(stem, written))
    written |= {word for word in NEGATIONS if stem(word) in stems_written}  # fail, failed
    opposites = {other for word in written for other in _OPPOSITES.get(word, ())} - written
    return Question(unit=asked_unit(question), allowed=frozenset(stems), topic=frozenset(main),
        needed=frozenset(needed), opposites=frozenset(opposites),
        is_present=bool(written & _PRESENT) and not written & _PAST,
        words=frozenset(written), is_plural=bool(_SEVERAL.search(asked)),
        is_polar=bool(found) and found[0].word in _AUXILIARIES, is_attribute=attribute is not None,
        has_act=any(token.text.endswith("ing") for token in topic),
        before={other: one for one, other in pairs}, after=dict(pairs))


# The tokens with "1 min 30 s" as one amount, and dates without the day of the week
def _summed(found: list[Token]) -> list[Token]:
    kept: list[Token] = []
    for token in found:
        last = kept[-1] if kept else None
        is_part = (last is not None and last.kind == token.kind == "number"
                   and token.value[0] == last.value[0] in ("time", "month")
                   and isinstance(last.value[1], Fraction) and isinstance(token.value[1], Fraction)
                   and token.value[1] < last.value[1])
        if token.kind == "date" and any(one.value in _DAYS for one in kept[-2:]):
            kept = kept[:-1] if kept[-1].value in _DAYS else kept[:-2]  # "Tuesday, 7 May 2024"
        if is_part:
            kept[-1] = Token("number", (last.value[0], last.value[1] + token.value[1]),
                             f"{last.text} {token.text}")
        else:
            kept.append(token)
    return kept


def is_plain(token: Token) -> bool:
    """Return whether a word is an ordinary one, neither a name nor a code."""
    return re.fullmatch(r"[a-z]+(?:[-'][a-z]+)*", token.text) is not None


def is_hard(token: Token) -> bool:
    """Return whether a token is a value, a code or a name in capitals, and no ordinary word."""
    return token.kind in ("number", "date") or (token.kind == "word" and (
        re.search(r"[^\W\d_].*[A-Z]|[\d_]|\w/\w", token.text) is not None
        or len(token.text) == 1 and token.text.isupper()))


@lru_cache(10_000)
def stem(word: str) -> str:
    """Return a word without its inflection; also of "operate", "operating" and "operation"."""
    word = word.removesuffix("'s").removesuffix("'")  # of a possessive
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    bare = word
    for ending in _ENDINGS if word.isalpha() and not word.endswith("ss") else ():
        shorter = ending.sub("", bare)
        bare = shorter if len(shorter) > 2 else bare
    bare = bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] and bare != word else bare
    return _SYNONYMS.get(bare, bare)


def singular(word: str) -> str:
    """Return a lower-case word without a plural s: "gaskets", "O-rings", but not "https"."""
    start, last = word[:word.rfind("-") + 1], word[word.rfind("-") + 1:]
    if last in _PLURALS:
        return start + _PLURALS[last]
    is_plural = (len(last) > 3 and last.isalpha() and last[-1] == "s" and last[-2] not in "sui"
                 and any(vowel in last for vowel in "aeiouy"))
    ending = next((one for one in ("ies", "ches", "shes", "xes", "sses") if last.endswith(one)), "")
    if is_plural and ending and len(last) > 4:
        return word[:-3] + "y" if ending == "ies" else word[:-2]
    return word[:-1] if is_plural else word


def asked_unit(question: str) -> str:
    """Return the unit that a question asks for ("in seconds", "(MB)"), or ""."""
    if re.search(r"\b(?:age|how old)\b", question, re.I):
        return "years"
    found = [match[1] for match in _ASKED_UNIT.finditer(folded(question)) if unit_of(match[1])]
    return found[-1] if found else ""
