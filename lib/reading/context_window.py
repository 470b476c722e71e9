"""What a local model's window holds of ready-made prompts: the rest is cut (TableQuest) or not asked, and counted.

TableQuest's prompts lose their passage's end, as in its paper. StrucText-Eval's are chosen to fit the base model's
window before (lib.structext.ask.window); an arm with a smaller window is not asked what it cannot hold.
"""

from dataclasses import dataclass

from transformers import AutoTokenizer

from lib.core.files import read_records
from lib.core.paths import data_path
from lib.core.records import Query, Rejected
from lib.infer.answers import Decoding
from lib.infer.prompts import is_read
from lib.llm.tokens import counter
from lib.structext.ask.window import lengths_of, window_of
from lib.tablequest.ask.prompts import fits
from lib.tablequest.records import TableQuestion


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
