"""What a run made of each fact: asked with the same question in every arm, rotation and seed (paper, 4.3 and 4.4)."""

from bisect import bisect_left

from transformers import PreTrainedTokenizerBase

from lib.controlled.design.facts import question, reference
from lib.controlled.records import KnownFact, Outcome, Rendered
from lib.core.records import Answer, Query, Score, Verdict
from lib.judge.rules import match_list
from lib.train.packing import stream_of


def queries_of(facts: list[KnownFact], rendered: list[Rendered]) -> list[Query]:
    """One query a fact, in the facts' order; its source reference is where the fact stands in the raw document.

    `structure` is what kind of answer is wanted, a list or not, and not where the fact stands: budget, layouts of the
    answer and judging must be alike in all rotations. A document that stands twice, treated too, counts once.
    Raises ValueError where a fact stands in no document.
    """
    places = {place.fact_id: (one, place) for one in reversed(rendered) for place in reversed(one.places)}
    missing = [fact.fact_id for fact in facts if fact.fact_id not in places]
    if missing:
        raise ValueError(f"{len(missing)} facts, {missing[0]} first, stand in no document of this rotation: run "
                         "01_controlled.ipynb again")
    queries = []
    for fact in facts:
        document, place = places[fact.fact_id]
        queries.append(_query(fact, document.document_id, document.raw[place.start:place.end], place.start))
    return queries


def asked_about(facts: list[KnownFact]) -> list[Query]:
    """One query a fact without its place in a document: for a base, which is only asked."""
    return [_query(fact, "", "", 0) for fact in facts]


def _query(fact: KnownFact, document_id: str, source: str, start: int) -> Query:
    is_list = len(fact.value) > 1
    return Query(query_id=fact.fact_id, document_id=document_id, question=question(fact), answer=reference(fact),
                 structure="entity-list" if is_list else "natural", source_reference=source, start=start,
                 end=start + len(source), entity_count=len(fact.value) if is_list else None, block_type="")


def outcomes(facts: list[KnownFact], rendered: list[Rendered], tokenizer: PreTrainedTokenizerBase,
             run: tuple[str, int, int], answers: list[Answer], verdicts: list[Verdict], scores: list[Score],
             run_tokens: int) -> list[Outcome]:
    """One row a fact, in the facts' order; answers, verdicts and scores are of queries_of, in its order."""
    places = {place.fact_id: (one.document_id, place) for one in reversed(rendered) for place in reversed(one.places)}
    trained_on = " ".join(" ".join(one.text for one in rendered).split())
    offsets = {one.document_id: _offsets(tokenizer, one.raw) for one in rendered}
    titles = {one.document_id: one.raw.index(one.title) + len(one.title) for one in rendered}
    rows = []
    for fact, answer, verdict, score in zip(facts, answers, verdicts, scores, strict=True):
        document_id, place = places[fact.fact_id]
        start, end, title = (bisect_left(offsets[document_id], where)
                             for where in (place.start, place.end, titles[document_id]))
        is_correct = verdict.verdict == "correct"
        named, surplus = _items(fact, answer.answer, is_correct)
        rows.append(Outcome(
            **dict(zip(("arm", "rotation", "seed"), run, strict=True)),
            **fact.model_dump(include={"fact_id", "product", "attribute", "kind", "section", "place"}),
            n_items=len(fact.value), structure=place.structure, answer=answer.answer, correct=is_correct,
            items_named=named, items_surplus=surplus, span_tokens=end - start, distance_tokens=start - title,
            run_tokens=run_tokens,
            as_asked=f"{fact.attribute} of {fact.product}" in trained_on,
            **score.model_dump(include={"question_loglik", "question_tokens", "question_argmax", "cloze_loglik",
                                        "cloze_tokens", "cloze_argmax"})))
    return rows


def _items(fact: KnownFact, answer: str, is_correct: bool) -> tuple[int, int]:
    """Items that the answer names, and others that it names."""
    match = match_list(question(fact), reference(fact), answer, len(fact.value)) if len(fact.value) > 1 else None
    return (match.n_named, len(match.surplus)) if match else (int(is_correct), 0)


def _offsets(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Where each token of `text` begins, in characters, ascending."""
    return [start for start, _ in tokenizer(text, add_special_tokens=False, return_offsets_mapping=True,
                                            split_special_tokens=True)["offset_mapping"]]


def check_whole(texts: list[str], tokenizer: PreTrainedTokenizerBase, block_size: int) -> None:
    """Raise ValueError where a text does not fit a block.

    The piece after a cut sees neither the product's name nor a table's header: it would measure the cut.
    """
    sizes = [len(stream_of(text, tokenizer)) for text in texts]
    if (longest := max(sizes)) > block_size:
        cut = sum(size > block_size for size in sizes)
        raise ValueError(f"{cut} of {len(sizes)} texts are longer than a block, the longest has {longest} tokens: "
                         f"raise block_size above {block_size} in 01_pretrain and 02_run, or leave the arm out")
