"""Say what each figure shows, for people who cannot see it; its numbers are in a table."""

_INTERVALS = "with 95% intervals"
_FLOOR = f"and of the floor, one panel per suite, {_INTERVALS}"
PICTURES = {
    "accuracy": f"Bars: accuracy in percent by structure and arm, {_INTERVALS}",
    "numeric": "Accuracy on numeric and on other queries by structure, one panel per arm",
    "lengths": "Words of questions, reference answers and arms' answers by structure",
    "seeds": f"Accuracy by structure and arm: means {_INTERVALS}, and a cross per seed",
    "paired": f"Differences between two arms on the same queries, in points, {_INTERVALS}",
    "power_curve": "Lines: the smallest difference that a number of queries can show",
    "advice": "Shares of prose, lists and tables, and the gain of each change to the documents",
    "agreement_intervals": f"Agreement of pairs of judges by structure, {_INTERVALS}",
    "human_intervals": f"Agreement of each judge with a person, {_INTERVALS}",
    "list_items_intervals": f"Items of a list that were answered, by arm, {_INTERVALS}",
    "funnel": "Bars: how many facts are left after each stage, by structure, one panel per arm",
    "paper_accuracy": "Accuracy by structure, as published and here, in panels with one axis",
    "retention": f"Difference in accuracy on public tasks after training, {_INTERVALS}",
    "training": "Lines: training and validation loss, and gradient norm, against epochs",
    "pretraining": "Lines: training loss of the base against tokens",
    "preferences": "Bars: wins of each of two arms and ties by structure, a panel per criterion",
    "replicates": f"Each contrast in points: a dot per laboratory and the mean {_INTERVALS}",
    "contrasts_forest": f"Contrasts between structures of the same facts, {_INTERVALS}",
    "factors_levels": "Accuracy by level and structure, one panel per factor",
    "interventions_tokens": "Gain of each arm over raw text, by structure and by added tokens",
    "bases": f"Each contrast: a cross per base and the mean {_INTERVALS}",
    "augmentations": "Accuracy by structure over numbers of paraphrases, and in the other arms",
    "reading": "Lines: held-out questions answered against tokens trained, by serialization",
    "forms": f"Cells read against cells learned by serialization, and by size, {_INTERVALS}",
    "languages_scores": f"Mean ROUGE-L by language, of each arm {_FLOOR}",
    "tasks_scores": f"Mean ROUGE-L by task, of each arm {_FLOOR}",
    "prompts_scores": f"Mean ROUGE-L by prompt, of each arm {_FLOOR}",
    "forms_judged": f"Answers judged correct by form, of each arm {_FLOOR}",
    "heat_map": "Mean ROUGE-L by depth and width and its standard deviations, one row per arm",
    "shots_curve": "Lines: mean ROUGE-L by number of demonstrations, one panel per suite",
    "real_differences": f"Real-Test less Test in points by language and arm, {_INTERVALS}",
    "tablequest_accuracy_intervals": f"Accuracy by serialization, a panel per level, {_INTERVALS}",
    "tablequest_failures_intervals": f"Share of each kind of failure by level, {_INTERVALS}",
    "tablequest_lengths_shares": "Lines: share of prompts up to a length, and context windows",
    "tablequest_ratings_intervals": f"Bradley–Terry ratings by arm and level, {_INTERVALS}",
    "tablequest_recall_intervals": f"Share of an answer's words in cited text, {_INTERVALS}"}


def pictured(name: str) -> str:
    """Return what the figure `name` shows, "" if unknown; "training-dapt" is one of "training"."""
    kind, _, which = name.partition("-")
    if kind not in PICTURES:
        return ""
    return f"{PICTURES[kind]}{f' ({which})' * bool(which)}."
