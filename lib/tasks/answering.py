"""Answer the queries of any task: with local models, over an endpoint, or by the task's reader."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib.analyze.tables import by_group
from lib.core.arms import ALL, BASE, GIVEN, is_trained
from lib.core.prompts import words
from lib.core.records import Answer, Document, GivenAnswer, Query, Rejected, Score
from lib.core.store import (
    REPOSITORY,
    BadInput,
    artifact_path,
    made_by,
    model_source,
    read_records,
    require_known,
    require_path,
)
from lib.documents.markdown import CONTENT, Block, block_at, parse
from lib.infer.prompts import (
    GenerationConfig,
    before_stop,
    chat_prompt_for,
    prompt_for,
    prompt_of,
    tokenizer_of,
)
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request, counter
from lib.tasks.task import Room, Rows, Shown, Task

_NEXT_TURN = ("\nQuestion:",)  # an answer to a chat prompt may have blank lines
OPEN, RETRIEVED = READING = ("open_book", "retrieved")
BASELINES = ("solver", "constant")
MODES = ("model", *READING, *BASELINES, GIVEN)
Found = list[tuple[Document, Block]]


class Source(NamedTuple):
    """What answers for an arm: local (folder or hub id), endpoint (model), baseline or a file."""

    kind: str
    name: str
    is_open: bool = False  # the prompt has the block that states the answer
    n_blocks: int = 0  # if above 0, it has that many retrieved blocks instead


def sources_of(
    study: str,
    arms: list[str],
    base_model: str,
    endpoint_model: str,
    mode: str | dict[str, str] = "model",
    n_blocks: int = 3,
    answers_file: str = "",
) -> dict[str, Source]:
    """What answers for each arm. Raises ValueError for an unknown mode, no block or no file."""
    found = {}
    for arm in arms:
        own = mode[arm] if isinstance(mode, dict) else mode
        require_known("mode", [own], MODES)
        if own == RETRIEVED and n_blocks < 1:
            raise ValueError(f"n_blocks is {n_blocks}: mode retrieved needs 1 or more")
        if own == GIVEN and not answers_file:
            raise ValueError("mode given: answers_file must name the file of answers")
        if own == GIVEN:
            found[arm] = Source(GIVEN, answers_file)
        elif own in BASELINES:
            found[arm] = Source("baseline", own)
        else:
            kind = "endpoint" if endpoint_model else "local"
            is_open, retrieved = own in READING, n_blocks if own == RETRIEVED else 0
            name = endpoint_model or source_of(study, BASE if is_open else arm, base_model)
            found[arm] = Source(kind, name, is_open, retrieved)
    return found


def source_of(study: str, arm: str, base_model: str) -> str:
    """The model of an arm, a folder or hub id: its own trained one, else `base_model`.

    Raises BadInput if training is not complete: training.json is written last.
    """
    if not is_trained(arm):
        return model_source(base_model)
    manifest = artifact_path(study, "model", arm=arm) / "training.json"
    return str(require_path(manifest, made_by("model", arm=arm)).parent)


def shown_to(
    source: Source,
    task: Task,
    queries: list[Query],
    rows: Rows,
    config: GenerationConfig,
    window: int = 0,
) -> Shown:
    """Return the queries in the form in which they can be sent to `source`.

    Without `window` (tokens), a local model's own counts; an endpoint's is unknown: nothing is cut.
    """
    queries = opened(queries, rows, source.n_blocks) if source.is_open else queries
    is_local, name = source.kind == "local", source.name
    if not (is_local or source.kind == "endpoint" and window) or not any(
        query.context for query in queries
    ):
        return Shown(queries, [], [])
    tokenizer = tokenizer_of(name) if is_local or Path(name).is_dir() else counter(name)[0]
    if not window:
        from transformers import AutoConfig  # slow to import

        window = AutoConfig.from_pretrained(name).get_text_config().max_position_embeddings
    room = Room(window, config.max_new_tokens_in_context, tokenizer)
    return task.fit(queries, rows, room)


def opened(queries: list[Query], rows: Rows, n_blocks: int = 0) -> list[Query]:
    """Return the queries with the paragraph, list or table of the answer in each prompt.

    With `n_blocks`, that many of `best_blocks` replace it. Raises BadInput for a task whose prompts
    have their text.
    """
    if any(query.context for query in queries) or "documents" not in rows:
        raise BadInput("this task's prompts have their text: set mode to model")
    if n_blocks:
        found = best_blocks(queries, rows["documents"], n_blocks)
    else:
        documents = {document.document_id: document for document in rows["documents"]}
        found = [
            [(one, block_at(parse(one.text), query.start, query.end))]
            for query in queries
            for one in [documents[query.document_id]]
        ]
    return [
        query.model_copy(update={"context": prompt_for(query.question, _text(blocks))})
        for query, blocks in zip(queries, found, strict=True)
    ]


def _text(blocks: Found) -> str:
    return "\n\n".join(document.text[block.start : block.end] for document, block in blocks)


def best_blocks(queries: list[Query], documents: list[Document], n_blocks: int) -> list[Found]:
    """The `n_blocks` paragraphs, lists and tables of all documents that best match each question.

    The best is first, by BM25 over words in lower case.
    """
    import bm25s

    blocks = [
        (one, block) for one in documents for block in parse(one.text) if block.kind in CONTENT
    ]
    index = bm25s.BM25()
    index.index([words(_text([block])) for block in blocks], show_progress=False)
    found = []
    for query in queries:
        scores = index.get_scores_from_ids(index.get_tokens_ids(words(query.question)))
        found.append([blocks[at] for at in (-scores).argsort(kind="stable")[:n_blocks]])
    return found


def recall_table(queries: list[Query], documents: list[Document], n_blocks: int) -> pd.DataFrame:
    """Share of questions whose own block is among their `best_blocks`, by structure and in all.

    `recall_low` and `recall_high` are the 95% interval over documents.
    """
    rows = pd.DataFrame(map(vars, queries))[["structure", "document_id"]]
    rows["recall"] = [
        any(
            one.document_id == query.document_id and block.start <= query.start < block.end
            for one, block in blocks
        )
        for query, blocks in zip(queries, best_blocks(queries, documents, n_blocks), strict=True)
    ]
    rows = pd.concat([rows, rows.assign(structure=ALL)])
    table = by_group(rows, ["structure"], "recall", "document_id")
    return table.rename(columns={"mean": "recall", "low": "recall_low", "high": "recall_high"})


def answers_of(
    arm: str,
    source: Source,
    task: Task,
    shown: Shown,
    rows: Rows,
    config: GenerationConfig,
    study: str,
    calls: Calls,
) -> tuple[list[Answer], list[Rejected]]:
    """Return an arm's answers in order, and the queries without one, each with its reason.

    A killed run of a local model resumes. A baseline writes no tokens.
    """
    queries, failed = shown.queries, shown.too_long
    if source.kind == "local":
        from lib.infer.generate import answer

        folder = artifact_path(study, "answers", arm=arm).parent
        return answer(source.name, queries, arm, config, folder), failed
    if source.kind == GIVEN:
        return given_answers(source.name, queries, arm), failed
    if source.kind == "endpoint":
        answers, lost = answer_over_endpoint(source.name, queries, arm, config, calls)
        return answers, [*failed, *lost]
    replies = task.replies(queries, rows)
    return [
        Answer(query_id=name, arm=arm, answer=replies[name], n_tokens=0, truncated=False)
        for name in (query.query_id for query in queries)
    ], []


def given_answers(file: str, queries: list[Query], arm: str) -> list[Answer]:
    """Return an arm's answers to `queries`, in order, from a file of GivenAnswer (JSON lines).

    Raises BadInput naming the first question without one.
    """
    rows = read_records(REPOSITORY / file, GivenAnswer, "what wrote it")
    found = {(row.query_id, row.question): row for row in rows if row.arm == arm}
    answers = []
    for query in queries:
        row = found.get((query.query_id, query.question))
        if not row:
            raise BadInput(
                f"{file} has no answer of {arm} to {query.query_id}, {query.question!r}: add it, "
                "or ask the questions that the file answers"
            )
        answers.append(Answer(**row.model_dump(exclude={"question"})))
    return answers


def answer_over_endpoint(
    model: str, queries: list[Query], arm: str, config: GenerationConfig, calls: Calls
) -> tuple[list[Answer], list[Rejected]]:
    """Return answers, in order, and the queries whose calls failed for good.

    An incomplete reply has its kind as `incomplete_reason`. Raises as lib.llm.complete does.
    """
    requests = [
        Request.ask(
            prompt_of(query, chat_prompt_for),
            max_tokens=config.budget(query),
            temperature=config.temperature,
            stop=() if query.context else _NEXT_TURN,
        )
        for query in queries
    ]
    replies, count = complete(requests, model, calls), counter(model)[0]
    answers, failed = [], []
    for query, request, reply in zip(queries, requests, replies, strict=True):
        name = query.query_id
        if not reply.text and reply.reason and reply.kind not in ("cut", "empty"):
            failed.append(
                Rejected(document_id=query.document_id, rejected_text=name, reason=reply.reason)
            )
            continue
        text = before_stop(reply.text, request.stop)
        is_ended = len(text) < len(reply.text.strip())  # a server that does not know `stop`
        incomplete_reason = "" if reply.kind == "cut" and is_ended else reply.kind
        answers.append(
            Answer(
                query_id=name,
                arm=arm,
                answer=text,
                n_tokens=min(count(reply.text), request.max_tokens),
                truncated=incomplete_reason == "cut",
                incomplete_reason=incomplete_reason or ("" if text else "empty"),
            )
        )
    return answers, failed


def score(
    arm: str,
    source: Source,
    queries: list[Query],
    documents: list[Document],
    config: GenerationConfig,
    cloze_context_tokens: int,
) -> list[Score]:
    """Score the references of queries without a text in a local model."""
    if source.kind != "local" or source.is_open or not queries:
        return []
    from lib.infer import generate, loglik

    texts = {document.document_id: document.text for document in documents}
    return loglik.score(
        *generate.load(source.name),
        queries,
        texts,
        arm,
        batch_size=config.batch_size,
        cloze_context_tokens=cloze_context_tokens,
    )


def remove_partial(folder: Path, arm: str) -> None:
    """Remove an arm's partial files: this run's, and those of other models or settings."""
    for path in folder.glob(f".{arm}-{'[0-9a-f]' * 16}.jsonl"):
        path.unlink()
