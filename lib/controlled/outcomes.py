"""Collect a run's outcomes fact by fact, with the same questions in every run (paper, 4.3, 4.4)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.augment.wordings import overlap
from lib.controlled.design.facts import is_list, question, reference
from lib.controlled.records import KnownFact, Outcome, Place, Rendered
from lib.core.files import made_by
from lib.core.records import Answer, Query, Score, Verdict
from lib.infer.answers import answer
from lib.judge.rules import by_rules, match_list
from lib.judge.verdicts import judge
from lib.train.packing import stream_of


def queries_of(facts: list[KnownFact], rendered: list[Rendered]) -> list[Query]:
    """Return one query per fact; its source reference is the fact's place in the raw document.

    It has no structure: token budget and judging must not change with the rotation. Raises
    ValueError if a fact is in no document.
    """
    placed = _placed(rendered)
    missing = [fact.fact_id for fact in facts if fact.fact_id not in placed]
    if missing:
        raise ValueError(f"{len(missing)} facts ({missing[0]} is the first) are in no document of "
                         f"this rotation: run {made_by('texts')} again")
    queries = []
    for fact in facts:
        document, place = placed[fact.fact_id]
        source = document.raw[place.start:place.end]
        queries.append(query_of(fact, document.document_id, source, place.start))
    return queries


def query_of(fact: KnownFact, document_id: str = "", source: str = "", start: int = 0) -> Query:
    """Return the query about a fact. A base's queries have no source, as it has no documents."""
    return Query(query_id=fact.fact_id, document_id=document_id, question=question(fact),
                 answer=reference(fact),
                 source_reference=source, start=start, end=start + len(source),
                 entity_count=len(fact.value) if is_list(fact) else None, block_type="")


def share_answered(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
                   facts: list[KnownFact], max_answer_tokens: int, batch_size: int) -> float:
    """Return the share of the facts whose question the model answers correctly, by rules."""
    queries = [query_of(fact) for fact in facts]
    answers = answer(model, tokenizer, queries, "", batch_size=batch_size,
                     max_answer_tokens=max_answer_tokens, max_list_tokens=max_answer_tokens)
    verdicts = judge(queries, answers, by_rules)
    return sum(one.verdict == "correct" for one in verdicts) / len(queries)


# If a mixed arm has two documents, the first is taken.
def _placed(rendered: list[Rendered]) -> dict[str, tuple[Rendered, Place]]:
    return {place.fact_id: (one, place) for one in reversed(rendered)
            for place in reversed(one.places)}


def outcomes(facts: list[KnownFact], rendered: list[Rendered], tokenizer: PreTrainedTokenizerBase,
             run: tuple[str, int, int], answers: list[Answer], verdicts: list[Verdict],
             scores: list[Score], run_tokens: int, trained_tokens: int,
             retained: float, paired: Collection[str] = ()) -> list[Outcome]:
    """Return one row per fact; answers, verdicts and scores are in the order of queries_of.

    `paired` has the products whose questions the arms with pairs train on.
    """
    placed, texts = _placed(rendered), defaultdict(list)
    for one in rendered:
        texts[one.document_id].append(one.text)
    read = {name: " ".join(each) for name, each in texts.items()}
    trained_on = " ".join(" ".join(one.text for one in rendered).split())
    offsets = {one.document_id: _offsets(tokenizer, one.raw) for one in rendered}
    arm, rotation, seed = run
    rows = []
    for fact, given, verdict, score in zip(facts, answers, verdicts, scores, strict=True):
        document, place = placed[fact.fact_id]
        title_end = document.raw.index(document.title) + len(document.title)
        start, end, title = (bisect_left(offsets[document.document_id], where)
                             for where in (place.start, place.end, title_end))
        is_correct = verdict.verdict == "correct"
        named, surplus = _count_items(fact, given.answer, is_correct)
        rows.append(Outcome(
            arm=arm, rotation=rotation, seed=seed,
            **fact.model_dump(exclude={"value"}), n_items=len(fact.value),
            structure=place.structure, answer=given.answer, correct=is_correct,
            items_named=named, items_surplus=surplus, span_tokens=end - start,
            distance_tokens=start - title, run_tokens=run_tokens, trained_tokens=trained_tokens,
            retained=retained, has_pair=fact.product in paired,
            question_overlap=overlap(question(fact), read[document.document_id]),
            as_asked=f"{fact.attribute} of {fact.product}" in trained_on,
            **score.model_dump(exclude={"query_id", "arm", "cloze_missing"})))
    return rows


def _count_items(fact: KnownFact, answer: str, is_correct: bool) -> tuple[int, int]:
    match = None
    if is_list(fact):
        match = match_list(question(fact), reference(fact), answer, len(fact.value))
    return (match.n_named, len(match.surplus)) if match else (int(is_correct), 0)


def _offsets(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True,
                         split_special_tokens=True)
    return [start for start, _ in encoding["offset_mapping"]]


def check_fit(texts: list[str], tokenizer: PreTrainedTokenizerBase, block_size: int) -> None:
    """Raise ValueError if a text does not fit in a block.

    The part after a cut would have neither the product's name nor the table's header, so the run
    would measure the effect of the cut.
    """
    sizes = [len(stream_of(text, tokenizer)) for text in texts]
    if (longest := max(sizes)) > block_size:
        cut = sum(size > block_size for size in sizes)
        raise ValueError(f"{cut} of {len(sizes)} texts are longer than a block; the longest has "
                         f"{longest} tokens: raise block_size above {block_size} for the base and "
                         "its runs, or leave the arm out")
