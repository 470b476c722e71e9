"""Decide what is a noun phrase: the subject of a question, and its answer (paper, 3.1).

No dictionary of English is needed, because a phrase is rejected unless every closed-class word in
it (determiner, preposition, auxiliary, pronoun, …) is where a noun phrase can have it.
"""

import re
from itertools import pairwise

from lib.annotate.rules.verbs import BASE, FORMS, NOUN_LIKE, is_participle

DATE = (r"(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{4}/\d{2}/\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|"
        r"\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|[A-Z][a-z]+ \d{4})")

_DETERMINERS = frozenset("a an the all any each every no both either neither some many most much "
                         "several few various multiple another".split())
_LINKS = frozenset("of in on at by for with from to into onto over under between among within "
                   "without through via per across against about and or".split())
AUXILIARIES = frozenset("""
can could may might must shall should will would cannot is are was were be been being am has have
had do does did isn't aren't don't doesn't can't won't""".split())
# words that begin or join a clause, refer to another sentence, or deny
_CLAUSAL = AUXILIARIES | frozenset("""
that which who whom whose what where when whenever while whether how why if unless until although
though because since so but whereas once except only otherwise instead however therefore hence thus
then not never nor also too even just yet still it its itself they them their this these those one
ones you your we our us i my he she his her there here above below following previous latter former
same other others such etc e.g i.e eg ie unlike else please note see than as later after before
again already more less remaining follows happened occurred became began went came threw
wrote made took gave got saw ran knew""".split())
# nouns that mean nothing without the sentences around them
VAGUE = frozenset("""
example examples case cases reason reasons way ways thing things section sections document
documents documentation page pages guide guides chapter table figure list result results problem
problems idea goal approach difference differences step steps fact something anything everything
nothing person people user users someone anyone author authors reader team community feature
features information details item items link links website rest number amount kind type sort lot
part parts set change changes default defaults value values option options setting settings
parameter parameters field fields entry entries name names argument arguments code file files
snippet type command configuration method function process operation response param property
attribute""".split())
# in a relative clause, words that refer to another sentence or begin one more clause
_DANGLING = frozenset("""
it its itself they them their this these those you your we our us i my he she his her there here
above below following previous latter former but because although though if unless while whereas so
since as then therefore however""".split())
# a gerund has no agent, and "the specified key" is known from another sentence only
DEICTIC = re.compile(r"^\W*\w+ing\b|\b(?:specified|given|resulting|returned|expected|existing|"
                     r"corresponding|respective|actual|desired|said)\b", re.I)
_ADJECTIVES = frozenset("""
main new first second third last next other default basic simple good old current right left
original general common special single whole entire full key additional optional required important
different various certain recommended suggested allowed supported maximum minimum actual final
initial typical particular similar good best available possible two three four""".split())
_SECOND = re.compile(r"\b(?:and|or) (?P<verb>[a-z]+) (?:to|into|from|the|an?|all|no|any|in|on|at|"
                     r"by|with|as|for|via|\w+ing)\b")
# "logs and maintains indexes": a plural hardly ever stands before another noun
_SECOND_S = re.compile(r"(?:,|\band|\bor) [a-z]+(?<!ic)(?<![isu])s (?!(?:of|in|on|at|by|for|with|"
                       r"from|to|into|and|or|per|via|within|between|without)\b)[\w\"]")
_REFERENCE = re.compile(r"(?:tables?|figures?|fig\.|sections?|chapters?|appendix|step|listing|"
                        r"example|page|option|part) (?:\d|[A-Z]\b)", re.I)
_SHORT_BRACKET = re.compile(r" \([\w/+.-]+(?: [\w/+.-]+)?\)")
_NAMED = re.compile(r"[A-Z]{2,}|\d|_|[a-z][A-Z]|[<>\[\]{}/\"=]|\w\.\w")


def is_noun_phrase(phrase: str) -> bool:
    """Return whether `phrase` is one noun phrase, perhaps with "of …" or "and …".

    A determiner may only begin it or follow a preposition or a conjunction; a clause word, a known
    verb, or punctuation other than a quotation or a short bracket rules it out.
    """
    phrase = re.sub(r"\"[^\"]+\"", "QUOTED", _SHORT_BRACKET.sub("", phrase))
    before, is_gerund = "", False
    for word in phrase.split():
        low = word.lower()
        kind = "link" if low in _LINKS else "determiner" if low in _DETERMINERS else "noun"
        if re.search(r"[,;:()\"!?…]|\w\.$|n't$|^[-–—&/+=|*]+$", word) or (
                low in _CLAUSAL and word not in ("IT", "US", "CAN")):
            return False
        if kind == "link" and before != "noun" or kind == "determiner" and before == "noun" and (
                not is_gerund):
            return False
        if before and word.islower() and low in FORMS and low not in NOUN_LIKE:
            return False  # "X provides", "a lid and sends it"
        is_gerund = before == "link" and low.endswith("ing")  # "for opening a valve"
        before = kind
    second = _SECOND.search(phrase)  # "no lid and map to zero"
    is_joined = second is not None and (
        BASE.get(second["verb"]) == second["verb"] or is_participle(second["verb"]))
    is_joined = is_joined or _SECOND_S.search(phrase) is not None
    return before == "noun" and not is_joined and not re.search(r"\b\w+ly\Z", phrase)


def is_complement(phrase: str) -> bool:
    """Return whether `phrase`, the end of a sentence, can answer for its verb.

    It is a noun phrase, several of them, or one with a relative clause ("a span that has ended"),
    but not a second predicate ("… and is sent") and not one that refers to another sentence.
    """
    if is_series(phrase):
        return True
    found = re.search(r" (?:that|which|who|whose|where) (?=\w)", phrase)
    if not found or re.search(r"[,;:()!?\"]", phrase) or not is_noun_phrase(phrase[:found.start()]):
        return False
    return is_rest(phrase[found.end():])


def is_rest(phrase: str) -> bool:
    """Return whether `phrase` is the rest of one clause that refers to no other sentence."""
    words = phrase.lower().split()
    is_joined = any(before in ("and", "or") and (word in _CLAUSAL or word in FORMS)
                    for before, word in pairwise(words))
    is_plain = re.search(r"[,;:()!?\"]|^\w+ing\b", phrase) is None
    return len(words) > 1 and is_plain and not is_joined and not _DANGLING.intersection(words)


def is_series(phrase: str) -> bool:
    """Return whether `phrase` is one noun phrase or several: "a, b and c"."""
    parts = re.split(r",\s+(?:(?:and|or)\s+)?", phrase)
    has_end = len(parts) == 1 or re.search(r",? (?:and|or) [^,]+$", phrase) is not None
    return has_end and all(map(is_noun_phrase, parts))


def is_specific(phrase: str, words: frozenset[str], about: str = "") -> bool:
    """Return whether a subject says which thing it is: a name, a code, or "the" and two words.

    `words` are the capitalized forms of words that the document has in lower case too, `about` is
    the section in lower case: "the tracer" is clear in the section on the tracer.
    """
    if is_imperative(phrase) or DEICTIC.search(phrase) or _REFERENCE.match(phrase):
        return False
    all_words = phrase.split()
    content = [word for word in all_words if word.lower() not in _DETERMINERS]
    head = re.split(r"\s(?:of|for|in|on|to|with|from|at|by)\s", " ".join(content))[0].split()
    last = head[-1].lower() if head else ""
    is_vague = not head or (last in VAGUE or len(head) > 1 and last.rstrip("s") in VAGUE) and all(
        word.lower() in _ADJECTIVES for word in head[:-1])
    if is_vague:
        return False
    is_clear = all_words[0].lower() in ("the", "a", "an") or content[0].endswith("s")
    if len(content) == 1 and is_clear and content[0].lower().rstrip("s") in re.findall(
            r"\w+?(?=s?\b)", about):
        return True
    is_named = any(_NAMED.search(word) for word in content) or any(
        re.match(r"[A-Z][a-z]", word) and word not in words
        for word in all_words[1:] if word.lower() not in _DETERMINERS)
    if all_words[0].lower() in _DETERMINERS:
        is_whole = all_words[0].lower() in ("each", "every", "all")
        is_definite = is_whole or all_words[0].lower() in ("the", "a", "an")
        return is_definite and (is_named or is_whole or len(head) > 1 or len(content) > 2)
    if all_words[0].startswith('"') and not phrase.endswith('"'):
        return False  # '"all" section' lacks its article
    is_name = re.fullmatch(r"[A-Z][\w.-]+", all_words[0]) and all_words[0] not in words
    return bool(is_named or is_name or len(head) > 1 and head[-1].endswith("s"))


def is_imperative(phrase: str) -> bool:
    """Return whether `phrase` begins with the base form of a verb: "Set the port"."""
    first = phrase.split(" ", 1)[0].strip("*_`")
    return BASE.get(first.lower()) == first.lower() and first in (first.lower(), first.title())


def has_clause(phrase: str) -> bool:
    """Return whether `phrase` holds a clause word, or a verb that is no noun."""
    words = [word.lower() for word in re.findall(r"[A-Za-z][\w']*", phrase)]
    return any(word in _CLAUSAL or word in FORMS and word not in NOUN_LIKE for word in words)
