"""Compare answers with references as words: exact match, F1, BLEU, ROUGE-L, METEOR, BERTScore.

METEOR is nltk's, with its exact and stem modules only: the module of synonyms needs WordNet, which
nltk downloads, and a figure has no synonym. Its tokens are those of Appendix F's recall.
"""

from collections.abc import Sequence

from nltk.translate.meteor_score import single_meteor_score

from lib.core.errors import BadInput
from lib.core.values import solid, tokens
from lib.reading.metrics import bleu, exact_match, rouge_l
from lib.tablequest.analyze.amounts import without_endless
from lib.tablequest.analyze.recall import tokens_of

WORD_METRICS = ("exact_match", "f1", "bleu", "rouge_l", "meteor")


class _NoSynonyms:
    """Stand in for WordNet in nltk, which then matches words and stems alone."""

    @staticmethod
    def synsets(word: str) -> list:
        return []


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """Return WORD_METRICS of an answer, each from 0 to 1; for F1, see `f1`."""
    try:
        overlap = (bleu(reference, answer), rouge_l(reference, answer))
    except BadInput:
        overlap = (0.0, 0.0)
    return {"exact_match": float(exact_match(reference, answer)), "f1": f1(reference, answer),
            **dict(zip(("bleu", "rouge_l"), overlap, strict=True)),
            "meteor": single_meteor_score(tokens_of(reference), tokens_of(answer),
                                          wordnet=_NoSynonyms())}


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
    """Return BERTScore's F1 of each answer by the encoder `model`; 0 for an empty answer.

    `model` is a hub id, which is downloaded once, or a folder. The layer is the one that bert-score
    recommends for the model, or its last. Scores are not rescaled. Raises ImportError, saying what
    to install, without the package bert-score.
    """
    try:
        from bert_score import score  # an extra; brings in torch, which takes seconds
        from bert_score.utils import model2layers
    except ImportError as error:
        raise ImportError("BERTScore needs the package bert-score: run `pip install -e "
                          "'.[bertscore]'`, or leave `bertscore_model` empty") from error
    from transformers import AutoConfig

    filled = [place for place, answer in enumerate(answers) if answer.strip()]
    scores = [0.0] * len(answers)
    if filled:
        n_layers = (model2layers.get(model)
                    or AutoConfig.from_pretrained(model).get_text_config().num_hidden_layers)
        _, _, found = score([answers[place] for place in filled],
                            [references[place] for place in filled],
                            model_type=model, num_layers=n_layers)
        for place, value in zip(filled, found.tolist(), strict=True):
            scores[place] = value
    return scores
