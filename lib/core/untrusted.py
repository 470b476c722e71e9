"""Documents and answers are data: what in them could pass for tags, marks or turns of a prompt is split (the house)."""

import html
import re
import unicodedata
from functools import lru_cache

SPLIT = "¦"  # put inside whatever is defused; visible, and in no form that is looked for

# What a model may take for < > [ ] or a Latin letter, beyond what Unicode itself calls compatible.
_LOOKALIKES = str.maketrans({
    **dict.fromkeys("‹〈⟨《«⟪❮❰", "<"), **dict.fromkeys("›〉⟩》»⟫❯❱", ">"), **dict.fromkeys("【〔〖〘❲⁅「『", "["),
    **dict.fromkeys("】〕〗〙❳⁆」』", "]"), **dict.fromkeys("⟦〚", "[["), **dict.fromkeys("⟧〛", "]]"),
    **dict(zip("\u0430\u0435\u0456\u043e\u0455\u0441\u0442\u0440\u0501\u051b\u051d",  # Cyrillic that looks Latin
               "aeiosctpdqw", strict=True))})
_CHARACTER = re.compile(r"&(?:amp;){0,3}(?:#0{0,9}\d{1,7}|#x0{0,9}[\da-f]{1,6}|[lg]t|[lr](?:sqb|brack|cub|brace));?|.",
                        re.S | re.I)
_PLAIN = re.compile(r"[\t-\r -%'-~]*")  # folded by lower() alone
_GAP = rf"(?:(?![<>\[\]{SPLIT}])[\W_])*+"  # anything between the parts of a mark but letters, digits and brackets
# Each matches the one character behind which SPLIT goes.
_MARKS = "|".join((
    rf"\[(?={_GAP}\[{_GAP}(?:true|false|first|second|tie){_GAP}\]{_GAP}\])",  # [[True]], of the judges
    r"(?:(?<=<)|(?<=<\s))<(?=\s*+\{\s?\{)", r"(?:(?<=\})|(?<=\}\s))\}(?=\s*+>\s?>)",  # <<<<{{ }}>>>>, of the normalizer
    r"<(?=\||/?s>|/?sys>|/?think>|(?:start|end)_of_turn>)", r"\[(?=/?inst\])"))  # turns of a chat template


def defused(text: str, tags: str) -> str:
    """`text` that can neither leave its `tags` in a prompt nor hold a verdict, a rewrite's marker or a turn of a chat.

    `tags` are names with | between them: "question|answer". Behind the first character of whatever is found goes one
    SPLIT; all else stays as it is, so that the text stays readable and can be restored. Other spellings are found
    too: with blanks, invisible characters, other brackets, HTML escapes, accents or attributes.
    """
    letters, ends = folded(text)
    found = re.finditer(rf"<(?={_GAP}(?:{tags})(?!\w))|{_MARKS}", letters)
    cuts = [0, *(ends[match.start()] for match in found), len(text)]
    return SPLIT.join(text[start:end] for start, end in zip(cuts, cuts[1:], strict=False))


def folded(text: str) -> tuple[str, list[int]]:
    """`text` as a lenient reader sees it, and for each character of that, where in `text` its source ends."""
    if _PLAIN.fullmatch(text):
        return text.lower(), list(range(1, len(text) + 1))
    seen = [(letter, match.end()) for match in _CHARACTER.finditer(text) for letter in _seen(match[0])]
    return "".join(letter for letter, _ in seen), [end for _, end in seen]


@lru_cache(20_000)
def _seen(character: str) -> str:
    """What one character or HTML escape looks like: "" for an invisible one, "[[" for "⟦"."""
    plain = html.unescape(character.lower().replace("amp;", "")) if len(character) > 1 else character
    visible = [letter for letter in unicodedata.normalize("NFKD", plain)
               if letter.isspace() or unicodedata.category(letter) not in ("Mn", "Me", "Cf", "Cc")]
    return "".join(visible).casefold().translate(_LOOKALIKES)
