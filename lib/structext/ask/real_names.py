"""The names that a model gives to what stands in a sample: by kind, checked one by one before any text holds them."""

import json
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from lib.core.untrusted import defused
from lib.structext.ask.prompts import TAGS

Names = dict[str, dict[str, str]]  # kind -> old name -> new name
_MOST_LETTERS, _MOST_WORDS = 40, 5  # of a new name: no room for instructions
_MOST_BRACES = 50  # looked at in the talk around a reply's object
_RESERVED = {"id", "subs"}  # fields that every object has


class Kind(NamedTuple):
    """Names that stand in the same place: what they are, and how a new one may look in every format."""

    what: str
    form: str
    pattern: str


_WORD, _PHRASE = r"[^\W_]+(?:-[^\W_]+)*", r"[^\W_]+(?:[ -][^\W_]+)*"
_SINGLE, _SEVERAL = "letters, digits and hyphens, no blank", "words of letters and digits"
KINDS = {
    "things": Kind("things of the scenario", _SINGLE, _WORD),
    "headings": Kind("headings of parts of a report", _SEVERAL, _PHRASE),
    "records": Kind("codes of records or events", _SINGLE, _WORD),
    "tags": Kind("names of XML elements", "a Latin letter, then Latin letters, digits and hyphens",
                 r"(?i:(?!xml)[a-z](?:-?[a-z0-9])*)"),
    "fields": Kind("names of fields", "a Latin letter, then Latin letters, digits and underscores",
                   r"[A-Za-z][A-Za-z0-9_]*"),
    "values": Kind("values: the n-th belongs to the n-th of `fields` and fits its type (a person, a town, a date, a "
                   "code, an amount with its unit)", "letters, digits, single blanks and . + / % ° -; a colon "
                   "before a digit only; no comma and no quotation mark",
                   r"[^\W_](?:[^\W_]|[.+/%°-]| (?! |$)|:(?=\d))*"),
    "people": Kind("names of people", _SEVERAL, _PHRASE),
    "words": Kind("single words of a report", _SINGLE, _WORD),
    "images": Kind("names of image files", "Latin letters, digits and hyphens, then .jpg, .jpeg, .png or .gif",
                   r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.(?:jpe?g|png|gif)"),
    "flaws": Kind("words that stand where a field's name is missing", _SINGLE, _WORD),
    "companies": Kind("names of companies", _SEVERAL, _PHRASE),
    "places": Kind("names of places", _SEVERAL, _PHRASE),
    "services": Kind("names of services that requests go through", _SINGLE, _WORD),
}
KIND_OF = {"ids": "things", "primary_keys": "records", "keys": "fields", "texts": "words", "bold": "words",
           "body": "words"}  # of a call to Letters where its kind has another name than the call


def by_kind(told: dict[str, list[str]]) -> dict[str, list[str]]:
    """Kind -> its different names in the order in which the generator called for them."""
    names: dict[str, dict[str, None]] = {}
    for call, said in told.items():
        if said:
            names.setdefault(KIND_OF.get(call, call), {}).update(dict.fromkeys(said))
    return {kind: list(found) for kind, found in names.items()}


def read_names(reply: str, wanted: dict[str, list[str]]) -> tuple[Names, list[str]]:
    """The new names in a reply, and what is wrong with them; names that were not asked for are not read."""
    given = _object_in(reply, set(wanted))
    if given is None:
        return {}, [f"the reply holds no JSON object with the keys {', '.join(wanted)}"]
    names: Names = {}
    wrong: list[str] = []
    for kind, olds in wanted.items():
        new = given.get(kind) if isinstance(given.get(kind), dict) else {}
        if missing := [old for old in olds if not isinstance(new.get(old), str)]:
            wrong.append(f"{kind}: {len(missing)} of {len(olds)} have no new name: {', '.join(missing[:5])}")
        names[kind] = {old: new[old] for old in olds if old not in missing}
        wrong += [f"{kind}: {name[:_MOST_LETTERS]!r} for {old!r}: {reason}" for old, name in names[kind].items()
                  if (reason := _fault(kind, old, name))]
        counts = Counter(map(str.casefold, names[kind].values()))
        wrong += [f"{kind}: {name[:_MOST_LETTERS]!r} is the new name of {n}" for name, n in counts.items() if n > 1]
    both = set(names.get("values", {}).values()) & set(names.get("things", {}).values())
    return names, wrong + [f"values: {name!r} is one of `things` too" for name in sorted(both)]


def _fault(kind: str, old: str, new: str) -> str:
    """Why `new` cannot stand for `old`; "" where it can."""
    if new == old:
        return "it is the old name"
    if len(new) > _MOST_LETTERS or len(new.split()) > _MOST_WORDS:
        return f"it has more than {_MOST_LETTERS} characters or {_MOST_WORDS} words"
    if unicodedata.normalize("NFKC", new) != new or not re.fullmatch(KINDS[kind].pattern, new):
        return f"it has to be {KINDS[kind].form}"
    if kind == "fields" and new in _RESERVED or kind == "tags" and defused(f"<{new}>", TAGS) != f"<{new}>":
        return "this name is taken"
    return ""


def _object_in(reply: str, keys: set[str]) -> dict | None:
    """The last JSON object of a reply that has most of `keys`, whatever stands around it."""
    text, decoder, best, at = re.sub(r"(?s)\A.*</think(?:ing)?>", "", reply), json.JSONDecoder(), None, 0
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
