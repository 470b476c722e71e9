"""Train a reader's tokenizer, in which a label, a year and an instruction are easy to match."""

from collections import Counter
from collections.abc import Sequence

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from lib.lab.base_model import train_tokenizer
from lib.reader.grids import YEARS

_SHARE = 0.05  # of the texts that have a line: an instruction
_LONG = 24  # characters


def reader_tokenizer(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train byte-level BPE of `vocabulary` tokens in which spaces and digits are tokens, and more.

    Years are tokens of their own, because the columns 2023 and 2022 differ in their last of four
    digits only. So are long lines that are in many of the texts: an instruction then takes no room
    in the context window.
    """
    tokenizer = train_tokenizer(list(texts), vocabulary, splits_spaces=True)
    counts = Counter(line for text in texts for line in set(text.split("\n"))
                     if len(line) >= _LONG)
    lines = [line for line, n in sorted(counts.items()) if n >= _SHARE * len(texts)]
    tokenizer.add_tokens([AddedToken(str(year), single_word=True, normalized=False)
                          for year in YEARS])
    tokenizer.add_tokens([AddedToken(line, normalized=False) for line in lines])
    return tokenizer
