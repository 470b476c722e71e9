"""What a local model's window holds of ready-made prompts: the rest is cut (TableQuest) or not asked, and counted.

TableQuest's prompts lose their passage's end, as in its paper. StrucText-Eval's are chosen to fit the base model's
window before (lib.structext.ask.window); an arm with a smaller window is not asked what it cannot hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from lib.core.files import read_records
from lib.core.paths import data_path
from lib.core.records import Query, Rejected
from lib.infer.answers import Decoding
from lib.infer.prompts import beginning, is_chat, is_read
from lib.llm.tokens import counter

Tokenizer = PreTrainedTokenizerBase | Callable[[str], int]  # or a count, as lib.llm.tokens.counter's
MARGIN = 16  # tokens that an endpoint's chat template may add to such a count
_BATCH = 64  # texts encoded at once, so that a study's tokens are never all in memory


@dataclass(frozen=True)
class Shown:
    """What an arm is asked, in the queries' order: `short` are those of `asked` that lost the end of their passage."""

    asked: list[Query]
    short: list[Query]
    too_long: list[Rejected]


def in_window(study: str, queries: list[Query], source: str, how: Decoding, *, is_local: bool,
              window: int = 0) -> Shown:
    """The queries as the model at `source` can be asked, with room for its reply in `window` tokens.

    Without `window`, the model's configuration says how many; an endpoint's is not known, and its prompts stay whole.
    """
    if not how.is_ready or not (is_local or window):
        return Shown(queries, [], [])
    room = window or window_of(source)
    tokenizer = AutoTokenizer.from_pretrained(source) if is_local else counter(source)[0]
    path = data_path(study, "questions.jsonl")
    if path.exists():
        from lib.tablequest.ask.prompts import fits
        from lib.tablequest.records import TableQuestion

        questions = read_records(path, TableQuestion, made_by="01_questions.ipynb")
        fit = fits(queries, questions, tokenizer, room, how.max_read_tokens, how.prompt_style, is_cut=True)
        whole = {query.query_id: query.context for query in queries}
        return Shown(fit.queries, [query for query in fit.queries if query.context != whole[query.query_id]],
                     fit.left_out)
    read = [query for query in queries if is_read(query, how.is_ready)]
    lengths = dict(zip((query.query_id for query in read), lengths_of([query.context for query in read], tokenizer,
                                                                      how.prompt_style), strict=True))
    too_long = {query_id for query_id, length in lengths.items() if length + how.max_read_tokens > room}
    return Shown([query for query in queries if query.query_id not in too_long], [],
                 [Rejected(document_id=query.document_id, item=query.query_id,
                           reason=f"{lengths[query.query_id]:,} tokens and {how.max_read_tokens:,} for the reply do "
                                  f"not fit in {room:,}") for query in queries if query.query_id in too_long])


def window_of(source: str) -> int:
    """Return the context window, in tokens of prompt and reply, of the model at `source`.

    `source` is a folder or hub id; its configuration is read.
    """
    return AutoConfig.from_pretrained(source).get_text_config().max_position_embeddings


def lengths_of(prompts: Sequence[str], tokenizer: Tokenizer, style: str = "auto") -> list[int]:
    """Return the tokens of each prompt as `lib.infer.prompts` encodes it.

    With the BOS token, and with the chat template in this `style`; MARGIN more where only a count
    is given. Raises ValueError as `lib.infer.prompts.is_chat` does.
    """
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        return [length + MARGIN for length in token_counts(prompts, tokenizer)]
    begin = beginning(tokenizer)
    if not is_chat(tokenizer, style):
        return [len(begin) + length for length in token_counts(prompts, tokenizer)]
    lengths = []
    for prompt in prompts:  # one by one: a template writes a copy of each
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True,
            sanitize_control_tokens=True, return_dict=False)
        lengths.append(len(ids) + (0 if ids[:1] == begin else len(begin)))
    return lengths


def token_counts(texts: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """Return the tokens of each text, without special tokens around it."""
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        return [tokenizer(text) for text in texts]
    return [len(ids) for start in range(0, len(texts), _BATCH)
            for ids in tokenizer(list(texts[start:start + _BATCH]), add_special_tokens=False,
                                 split_special_tokens=True, verbose=False)["input_ids"]]
