"""Templates of prompts, markup that text may not have there, JSON and words of replies."""

import html
import json
import re
import unicodedata
from functools import cache, lru_cache

import jinja2
import json_repair

from lib.core.store import prompt_file

BREAK_MARK = "¦"  # the character inserted; visible, and part of none of the patterns

# Look-alikes of < > [ ] and of Latin letters that Unicode itself does not fold.
_LOOKALIKES = str.maketrans(
    "‹〈⟨《«⟪❮❰›〉⟩》»⟫❯❱【〔〖〘❲⁅「『】〕〗〙❳⁆」』"
    # Cyrillic, Greek, Armenian and Lisu letters that look Latin, some only as capitals.
    "\u0430\u0435\u0456\u043e\u0455\u0441\u0442\u0440\u0501\u051b\u051d"
    "\u0432\u043a\u043c\u043d\u0443\u0445\u0458\u04bb"
    "\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0251\u0585\u057d"
    "\ua4d0\ua4d1\ua4d3\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df\ua4e0\ua4e1"
    "\ua4e2\ua4e3\ua4e6\ua4e7\ua4ea\ua4eb\ua4ec\ua4ee\ua4f0\ua4f2\ua4f3\ua4f4",
    "<<<<<<<<>>>>>>>>[[[[[[[[]]]]]]]]aeiosctpdqwbkmhyxjhabenikmvoptuxaoubpdtgkjczfmnlsrvhwxyaeiou",
) | str.maketrans(dict.fromkeys("⟦〚", "[[") | dict.fromkeys("⟧〛", "]]"))
# Latin letters in small capitals, with a stroke or hook, in boxes, and the letters of flags.
_LATIN = re.compile(
    r"(?:LATIN|INDICATOR SYMBOL).*LETTER (?:SMALL CAPITAL |SCRIPT |DOTLESS )?"
    r"([A-Z])(?: WITH .*)?"
)
_CHARACTER = re.compile(
    r"&(?:amp;){0,3}(?:#0{0,9}\d{1,7}|#x0{0,9}[\da-f]{1,6}|[lg]t|"
    r"[lr](?:sqb|brack|cub|brace));?|.",
    re.S | re.I,
)
# a letter as JSON writes it in two halves, and a half alone
_SURROGATES = re.compile(
    r"(?<!\\)\\u[dD](?:[89abAB][\da-fA-F]{2}\\u[dD][c-fC-F]|[89a-fA-F])[\da-fA-F]{2}"
)
_PLAIN = re.compile(r"[\t-\r -%'-~]*")  # text for which lower() is enough
# Between the parts of a mark: anything except letters, digits and brackets.
_GAP = rf"(?:(?![<>\[\]{BREAK_MARK}])[\W_])*+"
# Each pattern matches the one character after which BREAK_MARK is inserted: in the judges'
# [[True]], the normalizer's <<<<{{ }}>>>> and the turns of a chat template.
_MARKS = "|".join(
    (
        # also with letters that no table has: a word of their length that is not in Latin letters
        rf"\[(?={_GAP}\[{_GAP}(?:true|false|first|second|tie|(?=\w*[^\W\0-\x7f])\w{{3,6}})"
        rf"{_GAP}\]{_GAP}\])",
        r"(?:(?<=<)|(?<=<\s))<(?=\s*+\{\s?\{)",
        r"(?:(?<=\})|(?<=\}\s))\}(?=\s*+>\s?>)",
        r"<(?=\||/?(?:s|sys|think(?:ing)?|[be]os|pad|unk|mask|cls|sep|tools?|function(?:_call)?|tool_\w+|"
        r"(?:function|parameter)=[^<>]*|(?:start|end)_of_\w+|(?:begin|end)_of_text|"
        r"(?:unused|extra_id_|reserved\w*?_)\d+)\s*+>)",
        r"\[(?=/?(?:inst|system_prompt|available_tools|tool_\w+)\])",
    )
)
_MARKUP = re.compile(  # link targets and HTML tags
    r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\]\[[^\]\n]*\]|"
    r"</?[a-zA-Z][^<>]*>"
)


def prompt_template(name: str) -> jinja2.Template:
    """Return the template of `prompt_file`; rendering it without a value for a slot is an error.

    Give `name` as a literal, as in `prompt_template("judge").render(question=…)`: lib.core.digest
    reads it, so that a changed prompt re-runs the stages that use it.
    """
    return _template(prompt_file(name).read_text(encoding="utf-8"))


@cache  # compiling takes as long as a small model's answer
def _template(text: str) -> jinja2.Template:
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)


def escape_prompt_markup(text: str, tags: str) -> str:
    """Break what could close one of the `tags` ("question|answer") or pass for a part of a prompt.

    One BREAK_MARK is inserted after the first character of each verdict, rewrite's marker, chat
    turn or special token, however it is spelled; all else stays, so the text can be restored.
    """
    letters, ends = deconfuse(text)
    found = re.finditer(rf"<(?={_GAP}(?:{tags})(?!\w))|{_MARKS}", letters)
    cuts = [0, *(ends[match.start()] for match in found), len(text)]
    return BREAK_MARK.join(text[start:end] for start, end in zip(cuts, cuts[1:], strict=False))


def objects_in(reply: str) -> list[dict]:
    """Return the JSON objects in a reply after its thoughts, in order, with keys in lower case.

    Faults such as a missing bracket are repaired; of more than 20,000 characters the rest is cut.
    """
    text = reply.rpartition("</think>")[2].replace(BREAK_MARK, "")
    text = _SURROGATES.sub(_letter, text)  # a repair would part them
    try:
        found = json_repair.loads(text[:20_000])
    except (ValueError, RecursionError):  # nested too deep
        return []
    return [
        {str(key).strip().lower(): value for key, value in one.items()}
        for one in (found if isinstance(found, list) else [found])
        if isinstance(one, dict)
    ]


# One half alone cannot be stored
def _letter(escapes: re.Match) -> str:
    letter = json.loads(f'"{escapes[0]}"')
    return letter.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def deconfuse(text: str) -> tuple[str, list[int]]:
    """Fold look-alike letters, escapes and invisible characters; return where each one ends."""
    if _PLAIN.fullmatch(text):
        return text.lower(), list(range(1, len(text) + 1))
    seen = [
        (letter, match.end()) for match in _CHARACTER.finditer(text) for letter in _seen(match[0])
    ]
    return "".join(letter for letter, _ in seen), [end for _, end in seen]


@lru_cache(20_000)
def _seen(character: str) -> str:
    is_escape = len(character) > 1
    plain = html.unescape(character.lower().replace("amp;", "")) if is_escape else character
    visible = [
        letter
        for letter in unicodedata.normalize("NFKD", plain)
        if letter.isspace() or unicodedata.category(letter) not in ("Mn", "Me", "Cf", "Cc")
    ]
    latin = [
        letter
        if letter.isascii() or not (found := _LATIN.fullmatch(unicodedata.name(letter, "")))
        else found[1]
        for letter in visible
    ]
    return "".join(latin).casefold().translate(_LOOKALIKES)


def word_grams(text: str) -> set[int]:
    """Hashes of all 8 words in a row, comparable within a process."""
    found = words(text)
    return {hash(gram) for gram in zip(*(found[n:] for n in range(8)), strict=False)}


def words(text: str) -> list[str]:
    """Return the words and numbers of Markdown in lower case, without link targets and tags."""
    return re.findall(r"[^\W_]+", _MARKUP.sub(" ", text).lower())


def casefold_words(text: str) -> str:
    """Join the words of Markdown in lower case, to compare two questions or two answers."""
    return " ".join(words(text))
