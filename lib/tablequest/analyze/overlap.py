"""Compare answers with references as words: exact match, F1, BLEU, ROUGE-L, METEOR, BERTScore."""

from lib.core.values import solid, tokens
from lib.reading.metrics import EmptyText, bleu, exact_match, rouge_l
from lib.tablequest.analyze.amounts import without_endless


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """Return exact_match, f1 (see `f1`), bleu and rouge_l of an answer, each from 0 to 1."""
    try:
        overlap = (bleu(reference, answer), rouge_l(reference, answer))
    except EmptyText:
        overlap = (0.0, 0.0)
    return {"exact_match": float(exact_match(reference, answer)), "f1": f1(reference, answer),
            **dict(zip(("bleu", "rouge_l"), overlap, strict=True))}


def f1(reference: str, answer: str) -> float:
    """Return the harmonic mean of precision and recall over tokens with repetition, as in SQuAD.

    The tokens come from lib.core.values: folded words and numbers with their units.
    """
    wanted, given = ([(token.kind, token.value) for token in solid(tokens(without_endless(text)))]
                     for text in (reference, answer))
    rest = list(wanted)
    common = sum(1 for value in given if value in rest and not rest.remove(value))
    return 2 * common / (len(wanted) + len(given)) if common else 0.0
