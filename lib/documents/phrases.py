"""What is a noun phrase, what is an attribute, and how words fold: without a dictionary."""

import re

MARKUP = re.compile(
    r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\]\[[^\]\n]*\]|"
    r"</?[a-zA-Z][^>]*>"
)
_DETERMINERS = frozenset(
    "a an the all any each every no both either neither some many most much "
    "several few various multiple another".split()
)
_LINKS = frozenset(
    "of in on at by for with from to into onto over under between among within "
    "without through via per across against about and or".split()
)
# words of a clause, and words that refer to another sentence
CLAUSAL = frozenset(
    """
can could may might must shall should will would cannot is are was were be been being am has have
had do does did isn't aren't don't doesn't can't won't that which who whom whose what where when
whenever while whether how why if unless until although though because since so but whereas once
except only otherwise instead however therefore hence thus then not never nor also too even just
yet still it its itself they them their this these those one ones you your we our us i my he she
his her there here above below following previous latter former same other others such etc e.g i.e
eg ie else please note see than as later after before again already more less""".split()
)
_NO_ATTRIBUTE = frozenset(
    """
action behavior behaviour comment description detail effect example explanation guidance link
meaning note output purpose reason reference remark result summary usage value default""".split()
)
_FOREIGN = re.compile(r"(?=[^\W\d_])[^\u0000-\u024f\u0370-\u03ff]")


def words(text: str) -> list[str]:
    """Return the words and numbers of Markdown in lower case, without link targets and tags."""
    return re.findall(r"[^\W_]+", MARKUP.sub(" ", text).lower())


def folded(text: str) -> str:
    """Return the words of `text`, joined, to compare two questions or two answers."""
    return " ".join(words(text))


def is_foreign(text: str) -> bool:
    """True if `text` has a letter of a script that English does not use."""
    return _FOREIGN.search(text) is not None


def in_sentence(label: str) -> str:
    """Return a heading or header in lower case, unless a word of it is a name."""
    own = label.strip(" :.").split(" ")
    n_named = sum(bool(re.match("[A-Z][a-z]", word)) for word in own[1:])
    if n_named and n_named < sum(word not in _LINKS for word in own[1:]):
        return " ".join(own)
    return " ".join(word.lower() if re.fullmatch(r"[A-Z][a-z()-]*", word) else word for word in own)


def singular(word: str) -> str:
    """Return a noun without its plural ending."""
    return re.sub(r"(?<=[^su])s$", "", re.sub(r"(?<=\w\w)ies$", "y", word.lower()))


def is_noun_phrase(phrase: str) -> bool:
    """True for one noun phrase, perhaps with "of …" or "and …".

    A determiner may only begin it or follow a preposition or a conjunction; a clause word, a
    plural before another noun ("it logs errors") or punctuation rules it out.
    """
    phrase = re.sub(r" \([\w/+.-]+(?: [\w/+.-]+)?\)", "", phrase)
    before, last = "", ""
    for word in re.sub(r"\"[^\"]+\"", "QUOTED", phrase).split():
        low = word.lower()
        kind = "link" if low in _LINKS else "determiner" if low in _DETERMINERS else "noun"
        is_verb = re.search(r"[a-z]{3}(?<![isu])s$", last) and kind == "noun" and last.islower()
        if (
            low in CLAUSAL
            and word not in ("IT", "US")
            or is_verb
            or (re.search(r"[,;:()\"!?…]|\w\.$|n't$|^[-–—&/+=|*]+$", word))
        ):
            return False
        if kind == "link" and before != "noun" or kind == "determiner" and before == "noun":
            return False
        before, last = kind, word
    return before == "noun" and not re.search(r"[a-z]ly\Z|[a-z]ing \S+ing\Z", phrase)


def is_series(phrase: str) -> bool:
    """True for one noun phrase or several: "a, b and c"."""
    parts = re.split(r",\s+(?:(?:and|or)\s+)?", phrase)
    has_end = len(parts) == 1 or re.search(r",? (?:and|or) [^,]+$", phrase) is not None
    return has_end and all(map(is_noun_phrase, parts))


def is_attribute(label: str) -> bool:
    """True if "the <label> of X" names one value: a short singular noun phrase that no
    participle or adjective ends."""
    own = re.sub(r"\s*\([^()]*\)$", "", label.strip()).split()
    if not 0 < len(own) <= 4 or not is_noun_phrase(" ".join(own)) or is_foreign(label):
        return False
    last = own[-1].lower()
    is_noun = re.search(r"[a-z]{2}", last) and not re.search(
        r"(?:[^e]ed|[ai]ble|ional|ary|ous|ful|ory|ing|['’]s?)$|[^su]s$", last
    )
    return (
        bool(is_noun)
        and singular(last) not in _NO_ATTRIBUTE
        and own[0][0].isalpha()
        and not (_LINKS - {"of"}).intersection(map(str.lower, own))
    )


def is_value(text: str, most: int = 8) -> bool:
    """True for one short value: no clause, no reference, no placeholder, balanced brackets."""
    own = text.split()
    is_closed = all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}", '""')) or (
        len(own) == 1
    )
    is_clause = len(own) > 1 and CLAUSAL.intersection(map(str.lower, own))
    return (
        0 < len(own) <= most
        and is_closed
        and not is_clause
        and not re.search(
            r"[.;!?]\s+\S|[,:(]$|\s\S+\w\.$|\A\W*\Z|^(?:n/?a|none|tbd|todo|unknown|see\b.*)$|\{[{%:]",
            text,
            re.I,
        )
    )
