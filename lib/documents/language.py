"""The language that most of a document is written in."""

import re
from collections import Counter
from collections.abc import Iterable

from lib.documents.markdown import Block

UNKNOWN = "und"  # ISO 639-2: sentences, but of none of the languages below

# The most frequent words of running text that carry no topic.
_FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is that for with on as are be this it by or from at not you "
        "can if when an which will has have",
        "de": "der die das und in ist zu den mit von für auf nicht ein eine des dem sich "
        "werden wird im auch bei oder sind kann zum zur einer einen",
        "fr": "le la les de des et en un une du est pour que dans qui sur par au avec ce pas "
        "plus ou sont il cette peut être aux vous",
        "es": "el la los las de del y en un una es para que por con se no su al como más o "
        "este esta puede son si cuando lo sin",
        "it": "il la di e che un una per in del della con non si è sono da le i gli al dei "
        "nel alla come più o questo può essere",
        "pt": "o a os as de do da e em um uma é para que por com não se no na dos das ao como "
        "mais ou este pode são você",
        "nl": "de het een en van in is op te dat met voor niet zijn aan er bij ook door als "
        "worden of wordt om naar uit kan deze je",
        "sv": "och att det i en är på som för med av den till inte ett om har de kan från "
        "eller vid ska när du detta finns så",
        "da": "og at det i en er på som for med af den til ikke et om har de kan fra eller "
        "ved skal når du der hvis så",
        "nb": "og å det i en er på som for med av den til ikke et om har de kan fra eller ved "
        "skal når du hvis så dette",
        "fi": "ja on ei se että joka tai kun voi ovat jos mutta niin kuin myös sen ole sekä "
        "tämä olla jotka mukaan",
        "pl": "i w na z do się nie jest to że o od po jak dla przez lub są oraz może być przy "
        "za tym które który",
        "cs": "a v se na je že s z do pro k i o jako nebo by po jsou při není být může které "
        "který pokud tak",
        "hu": "a az és hogy nem is egy ez van meg vagy de ha csak el már kell lehet azt mint "
        "amely nem lesz",
        "ro": "și de în la cu o un pe care este nu să din pentru mai sau sunt ca prin dacă fi "
        "acest poate",
        "tr": "ve bir bu için ile de da olarak olan veya gibi daha değil ise her çok en kadar "
        "sonra ne var",
        "id": "yang dan di untuk dengan dari ini pada adalah tidak ke dalam atau dapat akan "
        "itu jika oleh anda juga",
        "vi": "và của là có được cho các trong một không với này để khi những người từ đã trên về",
    }.items()
}
# Languages that their script decides, and how many letters make about a word.
_SCRIPTS = {
    "ja": (r"[\u3040-\u30ff]", 1.0),
    "ko": (r"[\uac00-\ud7af]", 2.5),
    "zh": (r"[\u4e00-\u9fff]", 1.7),
    "ru": (r"[\u0400-\u04ff]", 6.0),
    "uk": (r"[іїєґІЇЄҐ]", 0.3),
    "el": (r"[\u0370-\u03ff]", 6.0),
    "ar": (r"[\u0600-\u06ff]", 5.0),
    "fa": (r"[پچژگ]", 0.2),
    "he": (r"[\u0590-\u05ff]", 5.0),
    "hi": (r"[\u0900-\u097f]", 5.0),
    "th": (r"[\u0e00-\u0e7f]", 5.0),
}
_NOT_WORDS = re.compile(r"`[^`\n]+`|<[^<>\n]+>|https?://\S+|\]\([^()\n]*\)")
_WORD = re.compile(r"(?<![\w./_-])[^\W\d_]+(?![\w/_])")
_SHARE = 0.36  # of running English that are its function words above; of the others about as many
_FEW_WORDS = 30  # too few to judge by
_RUNNING = 30  # characters of a paragraph or item; less is a label or a cell


def language_of(blocks: Iterable[Block]) -> str:
    """Return the ISO 639-1 code of the language that most of the running text is in.

    Headings, labels, code, tables, addresses and tags do not count. Return "" if there is too
    little text to judge by. Return "und" for no language known here.
    """
    parts = [
        part.text
        for block in blocks
        for part in (block.items or [block])
        if block.kind in ("prose", "list") and len(part.text) >= _RUNNING
    ]
    text = _NOT_WORDS.sub(" ", "\n".join(parts))
    words = Counter(word.lower() for word in _WORD.findall(text))
    amounts = {
        language: sum(words[word] for word in known) / _SHARE
        for language, known in _FUNCTION_WORDS.items()
    }
    if not text.isascii():
        amounts |= {
            language: len(re.findall(letters, text)) / size
            for language, (letters, size) in _SCRIPTS.items()
        }
    n_words = max(words.total(), *(amounts.get(language, 0) for language in _SCRIPTS))
    found = max(amounts, key=amounts.__getitem__)
    if n_words < _FEW_WORDS:
        return ""
    return found if amounts[found] >= n_words / 5 else UNKNOWN
