"""Compare answers with references as words: exact match, F1, BLEU, ROUGE-L, BERTScore."""

from collections.abc import Sequence

from lib.analyze.metrics import bleu, exact_match, rouge_l
from lib.core.errors import BadStudy
from lib.core.values import solid, tokens
from lib.tasks.tablequest.analyze.amounts import without_endless

WORD_METRICS = ("exact_match", "f1", "bleu", "rouge_l")


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """Return WORD_METRICS of an answer, each from 0 to 1; for F1, see `f1`."""
    try:
        overlap = (bleu(reference, answer), rouge_l(reference, answer))
    except ValueError:
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


def bert_scores(references: Sequence[str], answers: Sequence[str], model: str) -> list[float]:
    """Return BERTScore's F1 of each answer by the encoder `model`, not rescaled; 0 if empty.

    Raises BadStudy without the package bert-score.
    """
    try:
        from bert_score import score  # an extra; brings in torch, which takes seconds
    except ImportError as error:
        raise BadStudy("BERTScore needs the package bert-score: run `pip install -e "
                       "'.[bertscore]'`, or leave `bertscore_model` empty") from error
    return score(list(answers), list(references), model_type=model)[2].tolist()
