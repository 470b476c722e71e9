"""StrucText-Eval as a task: prompts with a structured text, answers in a tag, lines compared."""

import re

from lib.core.records import Query, Rejected
from lib.infer.prompts import lengths_of, token_counts
from lib.structext.prompts import REASONING, Prompted
from lib.structext.score import final_answer, judged
from lib.structext.solve import solved
from lib.tasks.task import Final, Room, Rows, Shown, Task

_SHOTS = re.compile(r"-\d+\Z")  # of a query's id, after its prompt setting


class StrucText(Task):
    """29 tasks on texts in eight languages; see lib.tasks.task.Task."""

    groups, cluster = ("language", "depth", "width"), "text"
    needs = {"asked": Prompted}
    score = staticmethod(judged)

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Leave out prompts that do not fit: cutting a structured text would change its structure.

        The note counts reference answers that are longer than a reply may be.
        """
        texts = {one.query_id: one.sample.reference for one in rows["asked"]}
        left_out = _too_long(queries, texts, room)
        ids = {row.item for row in left_out}
        kept = [query for query in queries if query.query_id not in ids]
        answers = token_counts([query.answer for query in kept], room.tokenizer)
        note = (
            f"{sum(length > room.reply for length in answers)} of {len(kept)} reference "
            f"answers are longer than {room.reply} tokens: no reply can give them in full."
        )
        return Shown(kept, [], left_out, note)

    def final(self, query: Query, reply: str) -> Final:
        """Read the final answer of a reply as its prompt setting requires."""
        return final_answer(reply, _SHOTS.sub("", query.query_id.rpartition(":")[2]))

    def replies(self, queries: list[Query], rows: Rows) -> dict[str, str]:
        """Return the solver's replies, which show whether each text has the answer to its question.

        A reply has the form that its prompt asks for, and is empty if the solver fails.
        """
        samples = {one.sample.id: one.sample for one in rows["asked"]}  # each is solved once
        texts = {row.id: row.answer for row in solved(samples.values())}
        return {
            one.query_id: f"<answer>\n{text}\n</answer>"
            if (text := texts[one.sample.id]) and one.setting in REASONING
            else text
            for one in rows["asked"]
        }

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return language, depth, width and text of a query's sample."""
        found = re.search(r"-d(\d+)-w(\d+)", query.query_id)
        depth, width = map(int, found.groups()) if found else (0, 0)
        return {
            "language": query.block_type,
            "depth": depth,
            "width": width,
            "text": query.document_id,
        }


TASK = StrucText()


# A text is counted once for all its prompts; only where it fits is a whole prompt counted, because
# a suite's longest prompts amount to hundreds of megabytes.
def _too_long(queries: list[Query], texts: dict[str, str], room: Room) -> list[Rejected]:
    if room.window < 1 or room.reply < 1:
        raise ValueError(
            f"window {room.window}, answer_budget {room.reply}: each must be at least 1 token"
        )
    most = room.window - room.reply
    different = list(dict.fromkeys(texts[query.query_id] for query in queries))
    of_text = dict(zip(different, token_counts(different, room.tokenizer), strict=True))
    lengths = {query.query_id: of_text[texts[query.query_id]] for query in queries}
    short = [query for query in queries if lengths[query.query_id] <= most]
    counted = lengths_of([query.context for query in short], room.tokenizer, room.style)
    lengths |= {query.query_id: length for query, length in zip(short, counted, strict=True)}
    return [
        Rejected(
            document_id=query.document_id,
            item=query.query_id,
            reason=f"{lengths[query.query_id]:,} tokens or more and {room.reply:,} for "
            f"the reply do not fit in {room.window:,}",
        )
        for query in queries
        if lengths[query.query_id] > most
    ]
