"""CSV sheets for a person to label, agreement of judges, flips with the order (paper, 3.1)."""

import csv
import hashlib
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from lib.analyze.tables import as_csv, by_group
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query, Verdict
from lib.core.store import BadInput, shown, write_text

ANSWERS = ("correct", "incorrect", "unsure")  # the labels of a sheet
# is the answer where it is said to be, does it match, does the level fit
TABLE_QUESTIONS = ("right", "not there", "no match", "wrong level")
PERSON = "person"  # the judge whose verdicts are the labels of the sheet
COEFFICIENTS = ("agreement", "kappa", "ac1")
_KEYS = ["query_id", "arm"]
_STATES = ["correct", "incorrect", "unscored"]
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONGEST_CELL = 32_000  # characters; Excel takes 32,767


class Item(NamedTuple):
    """An answer or a question as a person sees it, and what the sheet hides."""

    item: str  # a hash of all that a label depends on, so that a changed answer has no label
    query_id: str
    arm: str  # "" for a question
    structure: str
    verdict: str  # from the judge that stratifies the sample; "" for a question
    document_id: str
    texts: dict[str, str]  # the sheet's columns

    @property
    def stratum(self) -> tuple[str, str, str]:
        """Structure, arm and verdict."""
        return self.structure, self.arm, self.verdict


def items_of(
    queries: Iterable[Query], answers: Iterable[Answer], verdicts: Iterable[Verdict]
) -> list[Item]:
    """Return every answer that has a text and a verdict in one judge's `verdicts`."""
    asked = {query.query_id: query for query in queries}
    judged = {(row.query_id, row.arm): row.verdict for row in verdicts}
    items = []
    for row in answers:
        query, verdict = asked.get(row.query_id), judged.get((row.query_id, row.arm))
        if query and verdict and row.answer.strip():
            names = ("question", "reference answer", "answer")
            texts = dict(zip(names, (query.question, query.answer, row.answer), strict=True))
            content = json.dumps([query.query_id, row.arm, *texts.values()]).encode()
            name = f"item-{hashlib.sha256(content).hexdigest()[:12]}"
            found = name, query.query_id, row.arm, query.structure, verdict, query.document_id
            items.append(Item(*found, texts))
    return items


def draw(items: list[Item], size: int, seed: int) -> list[Item]:
    """Draw at most `size` items, one of each stratum in turn, shuffled by `seed`.

    Rare strata are drawn as often as frequent ones, if possible; `weights` correct for this.
    """
    chance, strata = random.Random(seed), defaultdict(list)
    for item in sorted(items, key=lambda item: item.item):
        strata[item.stratum].append(item)
    for stratum in strata.values():
        chance.shuffle(stratum)
    order = sorted(strata)
    chance.shuffle(order)  # so names do not decide which strata a small `size` omits
    turns = zip_longest(*(reversed(strata[key]) for key in order))
    drawn = [item for turn in turns for item in turn if item][:size]
    chance.shuffle(drawn)
    return drawn


def labels_of(path: Path, sample: list[Item], choices: tuple = ANSWERS) -> dict[str, str]:
    """Return the labels of the sheet at `path`, which has all of `sample` afterwards.

    Rows of a sheet with a label stay; items that it lacks are added below.
    """
    labels = read_labels(path, choices)
    sheet = _read(path) if labels else pd.DataFrame({"item": []})
    there = set(sheet["item"])
    rows = [{"item": one.item} | one.texts | {"label": ""} for one in sample]
    added = [{name: _cell(row[name]) for name in row} for row in rows if row["item"] not in there]
    if added:
        text = as_csv(pd.concat([sheet, pd.DataFrame(added)]), quoting=csv.QUOTE_ALL)
        write_text(path, "\ufeff" + text)  # Excel needs the byte order mark
    return labels


def _cell(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)[:_LONGEST_CELL]


def read_labels(path: Path, choices: tuple = ANSWERS) -> dict[str, str]:
    """Return item -> label of a filled-in sheet, {} if there is none.

    Raises BadInput naming item and remedy for an unknown or second label or a missing column.
    """
    if not path.exists():
        return {}
    labels, sheet = {}, _read(path)
    if missing := {"item", "label"} - set(sheet):
        raise BadInput(
            f"{shown(path)}: its first row has no column {min(missing)!r}: keep "
            "the first row as it was written"
        )
    for item, label in sheet.loc[sheet.label != "", ["item", "label"]].to_numpy():
        label = label.casefold()
        if label not in choices or not item:
            raise BadInput(
                f"{shown(path)}, {item or 'a row without an item'}: label {label!r} "
                f"should be {', '.join(choices)} or empty, and keep each item's name"
            )
        if labels.setdefault(item, label) != label:
            raise BadInput(
                f"{shown(path)}, {item} is labelled {labels[item]} and {label}: keep one of the two"
            )
    return labels


def _read(path: Path) -> pd.DataFrame:
    text = path.read_text(encoding="utf-8-sig", errors="replace")  # any encoding has the labels
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    lines = csv.DictReader(io.StringIO(text), delimiter=separator, restval="")
    sheet = pd.DataFrame(lines, columns=lines.fieldnames, dtype=str).map(str.strip)
    return sheet.rename(columns=lambda name: name.strip().lower())


def labels_digest(path: Path) -> str:
    """Return a digest of the labels at `path`, of its bytes if unreadable, "" without labels."""
    try:
        labels = json.dumps(sorted(read_labels(path).items())).encode()
    except ValueError:
        labels = path.read_bytes()
    return "" if labels == b"[]" else hashlib.sha256(labels).hexdigest()


def verdicts_of(items: Iterable[Item], labels: dict[str, str]) -> list[Verdict]:
    """Return the labels as verdicts of PERSON; an unsure one is unscored."""
    return [
        Verdict(
            query_id=item.query_id,
            arm=item.arm,
            judge=PERSON,
            reason="",
            verdict=labels[item.item].replace("unsure", "unscored"),
        )
        for item in items
        if item.item in labels
    ]


def weights(items: Iterable[Item], labels: dict[str, str]) -> dict[tuple[str, str], float]:
    """Map each labelled answer to the number that it represents: its stratum's size / labels."""
    labelled = [one for one in items if one.item in labels]
    sizes, n = (Counter(one.stratum for one in part) for part in (items, labelled))
    return {(one.query_id, one.arm): sizes[one.stratum] / n[one.stratum] for one in labelled}


def paired_verdicts(
    queries: Iterable[Query],
    verdicts: Mapping[str, Iterable[Verdict]],
    weights: Mapping[tuple[str, str], float] | None = None,
) -> pd.DataFrame:
    """Return one row per answer and pair of judges that both judged it; `verdicts` is by judge.

    `weights` maps (query_id, arm) to the answers that a sampled one represents.
    """
    queries = pd.DataFrame(map(vars, queries), columns=["query_id", "document_id", "structure"])
    names = [*_KEYS, "first", "first_reason", "second", "second_reason"]
    judged = {
        judge: pd.DataFrame(map(vars, rows), columns=[*_KEYS, "verdict", "reason"])
        for judge, rows in verdicts.items()
    }
    parts = []
    for pair in combinations(judged, 2):
        first, second = (judged[judge] for judge in pair)
        both = first.merge(second, on=_KEYS, validate="one_to_one").set_axis(names, axis=1)
        known = weights or {} if PERSON in pair else {}
        weight = [known.get(key, 1.0) for key in zip(both.query_id, both.arm, strict=True)]
        both = both.assign(first_judge=pair[0], second_judge=pair[1], weight=weight)
        parts.append(both.merge(queries, on="query_id"))
    return pd.concat(parts, ignore_index=True)


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return agreement, kappa and AC1 of the scored answers by pair of judges, structure and arm.

    lenient counts the answers that only the first judge calls correct, strict the reverse.
    """
    arms, table = sorted_arms(rows.arm), []
    for (first, second), pair in rows.groupby(["first_judge", "second_judge"], sort=False):
        judges = {"first_judge": first, "second_judge": second}
        parts = [(ALL, name, pair[pair.structure == name]) for name in STRUCTURES]
        parts += [(ALL, ALL, pair)]
        parts += [(arm, ALL, pair[pair.arm == arm]) for arm in arms if len(arms) > 1]
        table += [
            judges | {"arm": arm, "structure": structure} | _cell_of(part)
            for arm, structure, part in parts
            if len(part)
        ]
    return pd.DataFrame(table)


def _cell_of(part: pd.DataFrame) -> dict[str, float]:
    n = pd.crosstab(part["first"], part.second)
    n = n.reindex(index=_STATES, columns=_STATES, fill_value=0).to_numpy()
    both = part[part["first"].ne("unscored") & part.second.ne("unscored")]
    codes, documents = pd.factorize(both.document_id)
    tables = np.zeros((len(documents), 2, 2))
    places = (both[side].ne("correct").astype(int) for side in ("first", "second"))
    np.add.at(tables, (codes, *places), both.weight)
    return {
        "n": len(part),
        "unscored_first": n[2].sum(),
        "unscored_second": n[:, 2].sum(),
        "scored": len(both),
        "agreed": n[0, 0] + n[1, 1],
        "lenient": n[0, 1],
        "strict": n[1, 0],
    } | clustered_coefficients(tables)


def clustered_coefficients(tables: np.ndarray) -> dict[str, float]:
    """Return `coefficients` of the sum of `tables` (documents, 2, 2), with 95% intervals.

    Student's t with the jackknife's error over documents; NaN with one or an error of 0.
    """
    total, others = tables.sum(axis=0), max(len(tables) - 1, 0)
    left_out = [coefficients(total - table) for table in tables]
    spread = pd.DataFrame(left_out, columns=COEFFICIENTS).std(ddof=0, skipna=False)
    reach = stdtrit(others, 0.975) * others**0.5 * spread
    found = {}
    for name, value in coefficients(total).items():
        ends = value + np.array([-1, 1]) * (reach[name] if reach[name] > 1e-6 else np.nan)
        low, high = ends.clip(-1, 1)
        found |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return found


def coefficients(table: np.ndarray) -> dict[str, float]:
    """Return agreement, kappa and AC1 of counts (k, k) by both raters' verdicts; NaN without any.

    AC1: Gwet 2008, Brit. J. Math. Stat. Psychol. 61:29-48.
    """
    from statsmodels.stats.inter_rater import cohens_kappa  # slow to import

    if not table.sum() > 0:
        return dict.fromkeys(COEFFICIENTS, np.nan)
    shares = table / table.sum()
    mean, agreed = (shares.sum(0) + shares.sum(1)) / 2, np.trace(shares)
    chance = (mean * (1 - mean)).sum() / (len(table) - 1)
    kappa = cohens_kappa(table, return_results=False) if (mean > 0).sum() > 1 else np.nan
    values = (agreed, kappa, (agreed - chance) / (1 - chance))
    return dict(zip(COEFFICIENTS, map(float, values), strict=True))


def flips(rows: pd.DataFrame, by: list[str], cluster: str) -> pd.DataFrame:
    """Return the share of verdicts that change with the order, of those scored in both orders."""
    scored = rows[rows.is_asked & rows.verdict.ne("unscored")]
    return by_group(scored, by, "is_flipped", cluster).rename(columns={"mean": "rate"})
