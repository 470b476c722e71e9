"""What a model's window holds of ready-made prompts: TableQuest's lose their passage's end, as in its paper, counted.

StrucText-Eval's prompts are chosen to fit before they are asked (lib.structext.ask_window).
"""

from dataclasses import dataclass

from transformers import AutoConfig, AutoTokenizer

from lib.inference import Decoding
from lib.llm.tokens import counter
from lib.paths import data_path
from lib.records import Query, Rejected, read_records
from lib.tablequest.ask import fits
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
    Only a study with questions.jsonl, whose prompts hold a passage, is shortened.
    """
    path = data_path(study, "questions.jsonl")
    if not how.is_ready or not path.exists() or not (is_local or window):
        return Shown(queries, [], [])
    room = window or AutoConfig.from_pretrained(source).max_position_embeddings
    questions = read_records(path, TableQuestion, made_by="01_tablequest.ipynb")
    tokenizer = AutoTokenizer.from_pretrained(source) if is_local else counter(source)[0]
    fit = fits(queries, questions, tokenizer, room, how.max_read_tokens, how.prompt_style, is_cut=True)
    whole = {query.query_id: query.context for query in queries}
    return Shown(fit.queries, [query for query in fit.queries if query.context != whole[query.query_id]], fit.left_out)
