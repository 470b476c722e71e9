"""Ask for a number or a name with the sentence's own words: "… waits how many seconds?" (3.1).

The question word takes the place of the answer, so the question has every condition of the
sentence and no grammar is needed to turn it round. A sentence that refers to another is not asked.
"""

import re
from collections.abc import Iterator

from lib.annotate.rules.grammar import AUXILIARIES, LINKS, is_noun_phrase, is_specific
from lib.annotate.rules.labels import is_guessed
from lib.annotate.rules.patterns import Asked, lowered
from lib.annotate.rules.places import Place
from lib.annotate.rules.verbs import FORMS
from lib.core.text import is_plural
from lib.documents.blocks import plain

MIN_WORDS, MAX_WORDS = 6, 20

_NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_UNITS = {"s": "seconds", "ms": "milliseconds", "h": "hours", "B": "bytes", "KB": "kilobytes",
          "kB": "kilobytes", "MB": "megabytes", "GB": "gigabytes", "TB": "terabytes",
          "KiB": "kibibytes", "MiB": "mebibytes", "GiB": "gibibytes", "V": "volts", "mA": "mA",
          "A": "amperes", "W": "watts", "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz",
          "mm": "millimetres", "cm": "centimetres", "kg": "kilograms", "bar": "bar", "rpm": "rpm",
          "°C": "degrees Celsius"}
_COUNTED = re.compile(  # "two hours", "at most 64 open files", "512MiB", "80%"
    rf"(?<![\w.$#/:=+-])(?:\d[\d,.]*(?P<percent> ?%| percent)|"
    rf"\d[\d,.]* ?(?P<unit>{'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})|"
    rf"{_NUMBER} (?P<noun>(?:[a-z]+ )?[a-z]{{3,}}s))(?![\w°/-])")
_YEAR = re.compile(r"(?:19|20)\d\d(?!\d)")
# what asks may only end the question or be followed by such a word
_AFTER = re.compile(rf"\Z|,? (?:{'|'.join(sorted(AUXILIARIES | set(LINKS) - {'and', 'or'}))}|"
                    r"that|which|when|if|and \w+ing|before|after|until|while|because|during|"
                    r"since)\b")
_PORT = re.compile(r"\b(?P<kind>port|status code|error code|exit code|level) (?P<number>\d+)"
                   r"(?![\w.-])", re.I)
# a number next to another is a range or one of several
_RANGE = re.compile(r"(?:\b(?:and|or|to|between|from|than|versions?|v)|[-–,/]) *$", re.I)
_RANGE_AFTER = re.compile(r" *(?:[-–/]|,? (?:and|or|to) ) *\d")
_KINDS = (r"(?:flag|option|parameter|field|header|command|metric|label|endpoint|variable|key|"
          r"function|method|file|directory|folder|attribute|property|setting|argument|annotation|"
          r"plugin|package|signal|tool|class|type|service|module|operator|library|utility|"
          r"subcommand|interface|event|image|role|status|state|mode|extension|protocol|algorithm|"
          r"format|register|pin|table|column|keyword|directive|object|resource|policy|group|user|"
          r"namespace|container|branch|tag|prefix|suffix|script|program|binary|daemon|unit)")
_MORE = r"(?:[a-z]+(?:[ -][a-z]+)? )??"
_CODED = "\x1a"  # stands for the code that is asked for
_NAMED = re.compile(rf"\b(?P<det>the|an?) (?P<pre>{_MORE}){_CODED} (?P<kind>{_MORE}{_KINDS})\b",
                    re.I)
_NAMED_AFTER = re.compile(rf"\b(?P<det>the) (?P<kind>{_MORE}{_KINDS}) {_CODED}", re.I)
_VALUED = re.compile(r"(?P<before>\b(?:set to|defaults? to|named|called|stored in|located in|"
                     r"written to|resolves? to|enabled by|configured (?:by|via|with|using)|"
                     r"by setting|by passing|by calling|by running) )\x1a", re.I)
# what is said in another sentence, an example, an appraisal or an instruction
_ELSEWHERE = re.compile(
    r"\b(?:this|these|those|that is|such|above|below|following|previous(?:ly)?|earlier|later|here|"
    r"there|also|too|instead|otherwise|however|therefore|thus|hence|then|so|e\.g|i\.e|etc|"
    r"in (?:addition|contrast|general|particular)|examples?|instance|note|see|we|our|us|i|you|your|"
    r"he|she|they|them|their|it|its|another|other|others|both|either|former|latter|same|now|please|"
    r"first|second|third|next|last|step|figure|chapter|section|document|page|guide|article|"
    r"tutorial|currently|recently)\b|, (?:and|but|or)\b|[;:?!\"“”…]", re.I)
_VERB = re.compile(rf" (?=(?:{'|'.join(sorted(AUXILIARIES | set(FORMS)))})\b)")
_LEAD = re.compile(r"(?P<lead>(?:By default|(?:If|When|In|On|For|With|At|Since|As of|Under|After|"
                   r"Before|Until|To|Once|While|During) [^,]+), )(?P<main>.+)", re.S)


def ask_spot(raw: str, place: Place) -> Iterator[Asked]:
    """Yield the questions for a number or a code in one sentence, given as Markdown."""
    raw = re.sub(r"[.\s]+$", "", raw)
    text = plain(raw)
    subject = _opening(text, place)
    if not subject or not MIN_WORDS <= len(text.split()) <= MAX_WORDS or _ELSEWHERE.search(text):
        return
    text = subject + text[len(subject):]
    for start, end, asked, answer in (*_numbers(text), *_codes(raw, text)):
        rest = text[:start] + text[end:]
        inside = text[:start].count("(") > text[:start].count(")")
        known = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", rest, re.I)
        is_last = _AFTER.match(text, end)
        if start > len(subject) and not inside and not known and is_last:
            yield Asked(f"{text[:start]}{asked}{text[end:]}?", answer)


def _opening(text: str, place: Place) -> str:
    """Return the sentence's opening up to its subject's end, as it reads in a question, or ""."""
    lead = _LEAD.fullmatch(text)
    main = lead["main"] if lead else text
    verb = _VERB.search(main)
    if not verb:
        return ""
    subject = main[:verb.start()]
    shown = subject[:1].upper() + subject[1:]
    is_clear = is_noun_phrase(subject) and (
        subject in (place.name, place.subject.product) or is_specific(
            shown, place.subject.words, place.section.lower()))
    if not is_clear:
        return ""
    if lead:
        return lead["lead"][0].lower() + lead["lead"][1:] + subject
    return lowered(subject, place)


def _numbers(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the span of each number, the words that ask for it, and the answer."""
    for found in _COUNTED.finditer(text):
        unit = _UNITS[found["unit"]] if found["unit"] else found["noun"]
        asked = "what percentage" if found["percent"] else f"how many {unit}"
        is_noun = not found["noun"] or is_plural(unit) and is_noun_phrase(unit)
        if is_noun and not _YEAR.match(found[0]) and _is_single(text, found):
            yield found.start(), found.end(), asked, found[0]
    for found in _PORT.finditer(text):
        if _is_single(text, found):
            yield found.start(), found.end(), f"which {found['kind']}", found["number"]


def _is_single(text: str, found: re.Match[str]) -> bool:
    return not _RANGE.search(text[:found.start()]) and not _RANGE_AFTER.match(text, found.end())


def _codes(raw: str, text: str) -> Iterator[tuple[int, int, str, str]]:
    for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", raw):
        if text.count(code) != 1 or not re.search(r"\w{2}", code):
            continue
        coded = text.replace(code, _CODED)
        shift = len(code) - len(_CODED)
        rest = coded.replace(_CODED, "")
        for pattern in (_NAMED, _NAMED_AFTER, _VALUED):
            found = pattern.search(coded)
            if not found or is_guessed(code, rest):
                continue
            if pattern is _VALUED:
                asked = f"{found['before']}what"
            elif pattern is _NAMED:
                asked = f"which {found['pre']}{found['kind']}"
            else:
                asked = f"which {found['kind']}"
            yield found.start(), found.end() + shift, asked, code
            break
