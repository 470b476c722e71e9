"""Read a model's new names, one for each name in a sample, and check them before they are used."""

import json
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from lib.core.prompts import defused
from lib.structext.ask.prompts import TAGS

Names = dict[str, dict[str, str]]  # kind -> old name -> new name
_MOST_LETTERS, _MOST_WORDS = 40, 5  # limits of a new name, too low for instructions
_MOST_BRACES = 50  # "{" at which a reply's object may begin
_RESERVED = {"id", "subs"}  # fields that every object has


class Kind(NamedTuple):
    """Names used in the same place: what they name, and the form that a new name must have."""

    what: str
    form: str
    pattern: str


_WORD, _PHRASE = r"[^\W_]+(?:-[^\W_]+)*", r"[^\W_]+(?:[ -][^\W_]+)*"
_SINGLE, _SEVERAL = "letters, digits and hyphens, no spaces", "words of letters and digits"
KINDS = {
    "things": Kind("things of the scenario", _SINGLE, _WORD),
    "headings": Kind("section headings of a report", _SEVERAL, _PHRASE),
    "records": Kind("codes of records or events", _SINGLE, _WORD),
    "tags": Kind("names of XML elements", "a Latin letter, then Latin letters, digits and hyphens",
                 r"(?i:(?!xml)[a-z](?:-?[a-z0-9])*)"),
    "fields": Kind("names of fields", "a Latin letter, then Latin letters, digits and underscores",
                   r"[A-Za-z][A-Za-z0-9_]*"),
    "values": Kind(
        "values: the n-th belongs to the n-th of `fields` and fits its type (a person, a town, a "
        "date, a code, an amount with its unit)",
        "letters, digits, single spaces and . + / % ° -; a colon only before a digit; no comma and "
        "no quotation mark", r"[^\W_](?:[^\W_]|[.+/%°-]| (?! |$)|:(?=\d))*"),
    "women": Kind("first name and surname of a woman", _SEVERAL, _PHRASE),
    "men": Kind("first name and surname of a man", _SEVERAL, _PHRASE),
    "words": Kind("single words of a report", _SINGLE, _WORD),
    "images": Kind("names of image files", "Latin letters, digits and hyphens, then .jpg, .jpeg, "
                   ".png or .gif", r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.(?:jpe?g|png|gif)"),
    "flaws": Kind("words in places where a field's name is missing", _SINGLE, _WORD),
    "companies": Kind("names of companies", _SEVERAL, _PHRASE),
    "places": Kind("names of places", _SEVERAL, _PHRASE),
}
# Method of Letters -> the kind of its names, if the kind has another name.
KIND_OF = {"ids": "things", "primary_keys": "records", "keys": "fields", "texts": "words",
           "bold": "words", "body": "words"}


def by_kind(called: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return kind -> its distinct names, in the order in which the generator asked for them."""
    names: dict[str, dict[str, None]] = {}
    for call, given in called.items():
        if given:
            names.setdefault(KIND_OF.get(call, call), {}).update(dict.fromkeys(given))
    return {kind: list(found) for kind, found in names.items()}


def read_names(reply: str, wanted: dict[str, list[str]]) -> tuple[Names, list[str]]:
    """Return the new names in a reply, and their faults; ignore names that are not `wanted`."""
    given = _object_in(reply, set(wanted))
    if given is None:
        return {}, [f"the reply has no JSON object with the keys {', '.join(wanted)}"]
    names: Names = {}
    faults: list[str] = []
    for kind, olds in wanted.items():
        new = given.get(kind) if isinstance(given.get(kind), dict) else {}
        if missing := [old for old in olds if not isinstance(new.get(old), str)]:
            faults.append(f"{kind}: {len(missing)} of {len(olds)} have no new name: "
                          f"{', '.join(missing[:5])}")
        names[kind] = {old: new[old] for old in olds if old not in missing}
        faults += [f"{kind}: {name[:_MOST_LETTERS]!r} for {old!r}: {reason}"
                   for old, name in names[kind].items() if (reason := _fault(kind, old, name))]
        counts = Counter(map(str.casefold, names[kind].values()))
        faults += [f"{kind}: {name[:_MOST_LETTERS]!r} is the new name of {n}"
                   for name, n in counts.items() if n > 1]
    both = set(names.get("values", {}).values()) & set(names.get("things", {}).values())
    return names, faults + [f"values: {name!r} is also one of `things`" for name in sorted(both)]


def _fault(kind: str, old: str, new: str) -> str:
    """Say why `new` cannot replace `old`; "" if it can."""
    if new == old:
        return "it is the old name"
    if len(new) > _MOST_LETTERS or len(new.split()) > _MOST_WORDS:
        return f"it has more than {_MOST_LETTERS} characters or {_MOST_WORDS} words"
    is_plain = unicodedata.normalize("NFKC", new) == new
    if not is_plain or not re.fullmatch(KINDS[kind].pattern, new):
        return f"it must be {KINDS[kind].form}"
    is_tag = kind == "tags" and defused(f"<{new}>", TAGS) != f"<{new}>"
    return "this name is taken" if is_tag or (kind == "fields" and new in _RESERVED) else ""


def _object_in(reply: str, keys: set[str]) -> dict | None:
    """Return the last of the JSON objects in a reply that have the most of `keys`, or None."""
    text = re.sub(r"(?s)\A.*</think(?:ing)?>", "", reply)
    decoder, best, at = json.JSONDecoder(), None, 0
    for _ in range(_MOST_BRACES):
        if (at := text.find("{", at)) < 0:
            break
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if len(keys & found.keys()) >= max(1, len(keys & best.keys()) if best else 1):
            best = found
    return best
