"""CSV sheets to label or to answer, agreement of judges, flips with the order (paper, 3.1)."""

import csv
import hashlib
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from lib.analyze.metrics import LEAST_ROUGE, word_scores
from lib.analyze.tables import as_csv, by_group, unguarded
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query, Verdict
from lib.core.store import REPOSITORY, BadInput, data_path, shown, write_text

ANSWERS = ("correct", "incorrect", "unsure")  # the labels of a sheet
# is the answer where it is said to be, does it match, does the level fit
TABLE_QUESTIONS = ("right", "not there", "no match", "wrong level")
PERSON = "person"  # the reader of a sheet whose header says so
_READER = re.compile(r"reader:(.*)", re.I)  # in a sheet's header: who filled it in
LEAST_ARMS = 3  # for a coefficient over their means: two points always lie on a line
COEFFICIENTS = ("agreement", "kappa", "ac1")
_KEYS = ["query_id", "arm"]
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
LONGEST_CELL = 32_000  # characters; Excel takes 32,767


class Sheet(NamedTuple):
    """The labels of a sheet by item, who filled it in, and whether its header says: a person."""

    name: str
    is_person: bool
    labels: dict[str, str]


class Item(NamedTuple):
    """An answer or a question as a person sees it, and what the sheet hides."""

    item: str  # a hash of all that a label depends on, so that a changed answer has no label
    query_id: str
    arm: str  # "" for a question
    structure: str
    verdict: str  # from the judge that stratifies the sample; "" for a question
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
            texts = {"question": query.question, "reference answer": query.answer}
            texts["answer"], key = row.answer, (query.query_id, row.arm)
            name = item_name(*key, *texts.values())
            items.append(Item(name, *key, query.structure, verdict, texts))
    return items


def item_name(*parts: str) -> str:
    """Return a name for a sheet's row that hides the `parts` and changes with each of them."""
    return f"item-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


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


def sheets_of(
    study: str,
    name: str,
    sample: list[Item],
    choices: tuple = ANSWERS,
    n: int = 1,
    readings: Iterable[str] = (),
) -> list[Sheet]:
    """Return the sheets with labels: `readings` (files), and the study's labels/<name>*.csv.

    The first `n` of the study's are written with all of `sample`; rows with a label stay. Raises
    BadInput as `read_sheet` does, and for two sheets of one name.
    """
    paths = [data_path(study, "labels", f"{name}{f'-{k}' * (k > 1)}.csv") for k in range(1, n + 1)]
    for path in paths:
        _complete(path, sample, choices)
    own = sorted(data_path(study, "labels").glob(f"{name}*.csv"))
    files: dict[str, Path] = {}
    found = []
    for path in [*(REPOSITORY / one for one in readings), *own]:
        sheet = read_sheet(path, choices)
        if sheet.name in files:
            raise BadInput(
                f"{shown(files[sheet.name])} and {shown(path)} are both called {sheet.name!r}: "
                "rename one, or leave it out of readings"
            )
        files[sheet.name] = path
        found += [sheet] * bool(sheet.labels)
    return found


def _complete(path: Path, sample: list[Item], choices: tuple) -> None:
    sheet = _read(path)
    readers = [name for name in sheet if _READER.fullmatch(name)] or ["reader: ?"]
    if not read_sheet(path, choices).labels:
        sheet = sheet[["item"]].head(0)
    there = set(sheet["item"])
    added = [
        {"item": one.item}
        | {
            name: _UNPRINTABLE.sub("\ufffd", text)[:LONGEST_CELL]
            for name, text in one.texts.items()
        }
        | {"label": "", **dict.fromkeys(readers, "")}
        for one in sample
        if one.item not in there
    ]
    if added:
        sheet = pd.concat([sheet, pd.DataFrame(added)])
        text = as_csv(sheet, quoting=csv.QUOTE_ALL)
        write_text(path, "\ufeff" + text)  # Excel needs the byte order mark


def read_sheet(path: Path, choices: tuple = ANSWERS) -> Sheet:
    """Return a filled-in sheet, without labels if there is none; no `choices`: any label is legal.

    Raises BadInput naming item and remedy for an unknown or second label or a missing column.
    """
    labels, sheet = {}, _read(path)
    if missing := {"item", "label"} - set(sheet):
        raise BadInput(
            f"{shown(path)}: its first row has no column {min(missing)!r}: keep "
            "the first row as it was written"
        )
    for item, label in sheet.loc[sheet.label != "", ["item", "label"]].to_numpy():
        label = label.casefold() if choices else label
        if choices and label not in choices or not item:
            raise BadInput(
                f"{shown(path)}, {item or 'a row without an item'}: label {label!r} "
                f"should be {', '.join(choices)} or empty, and keep each item's name"
            )
        if labels.setdefault(item, label) != label:
            raise BadInput(
                f"{shown(path)}, {item} is labelled {labels[item]} and {label}: keep one of the two"
            )
    readers = [found[1].strip().lower() for name in sheet if (found := _READER.fullmatch(name))]
    is_person = readers == [PERSON]
    return Sheet(f"{PERSON} ({path.stem})" if is_person else path.stem, is_person, labels)


def _read(path: Path) -> pd.DataFrame:
    if not path.exists():
        return pd.DataFrame(columns=["item", "label"])
    text = path.read_text(encoding="utf-8-sig", errors="replace")  # any encoding has the labels
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    lines = csv.DictReader(io.StringIO(text), delimiter=separator, restval="")
    sheet = pd.DataFrame(lines, columns=lines.fieldnames, dtype=str)
    sheet = sheet.map(lambda cell: unguarded(cell.strip()))
    names = (name.strip() for name in sheet)
    return sheet.set_axis([name if _READER.match(name) else name.lower() for name in names], axis=1)


def verdicts_of(items: Iterable[Item], sheet: Sheet) -> list[Verdict]:
    """Return the labels of a sheet as verdicts of its reader; an unsure one is unscored."""
    return [
        Verdict(
            query_id=item.query_id,
            arm=item.arm,
            judge=sheet.name,
            reason="",
            verdict=sheet.labels[item.item].replace("unsure", "unscored"),
        )
        for item in items
        if item.item in sheet.labels
    ]


def weights(items: Iterable[Item], keys: Iterable[tuple[str, str]]) -> list[float]:
    """Return the number of `items` that each (query_id, arm) of `keys` represents.

    It is the size of its stratum, divided by the keys in this stratum.
    """
    strata = {(one.query_id, one.arm): one.stratum for one in items}
    own = [strata[key] for key in keys]
    sizes, n = Counter(strata.values()), Counter(own)
    return [sizes[stratum] / n[stratum] for stratum in own]


def paired_verdicts(
    queries: Iterable[Query],
    verdicts: Mapping[str, Iterable[Verdict]],
    items: Iterable[Item] = (),
    readers: Collection[str] = (),
) -> pd.DataFrame:
    """Return one row per answer and pair of judges that both judged it; `verdicts` is by judge.

    With a sheet's reader (one of `readers`), a row has its weight as a sample of `items`.
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
        keys = [*zip(both.query_id, both.arm, strict=True)]
        weight = 1.0 if {*pair}.isdisjoint(readers) else weights(items, keys)
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
    unscored = part[["first", "second"]].eq("unscored")
    both = part[~unscored.any(axis=1)]
    first, second = (both[side].ne("correct").astype(int) for side in unscored)
    codes, documents = pd.factorize(both.document_id)
    tables = np.zeros((len(documents), 2, 2))
    np.add.at(tables, (codes, first, second), both.weight)
    return {
        "n": len(part),
        "unscored_first": unscored["first"].sum(),
        "unscored_second": unscored.second.sum(),
        "scored": len(both),
        "agreed": (first == second).sum(),
        "lenient": (first < second).sum(),
        "strict": (first > second).sum(),
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


def measured(
    queries: Iterable[Query],
    answers: Iterable[Answer],
    verdicts: Mapping[str, Iterable[Verdict]],
) -> pd.DataFrame:
    """Return each answer's metrics (0 to 1), and by each judge or sheet 1, 0 or NaN (unscored)."""
    wanted = {query.query_id: query.answer for query in queries}
    rows = pd.DataFrame(
        [
            {"query_id": row.query_id, "arm": row.arm}
            | word_scores(wanted[row.query_id], row.answer)
            for row in answers
        ]
    ).set_index(_KEYS)
    rows["rouge_score"] = rows.rouge_l.where(rows.rouge_l >= LEAST_ROUGE, 0.0)
    for judge, given in verdicts.items():
        known = {(row.query_id, row.arm): row.verdict for row in given}
        rows[judge] = rows.index.map(known).map({"correct": 1.0, "incorrect": 0.0})
    return rows.droplevel("query_id")


def correlations(rows: pd.DataFrame, judges: Iterable[str]) -> pd.DataFrame:
    """Return Pearson's r of each measure in `measured` with each of `judges`.

    Over answers that the judge scored, and over their means by arm, of at least LEAST_ARMS; n are
    those with the measure.
    """
    parts = []
    for judge in judges:
        known = rows[rows[judge].notna()]
        for over, table in {"answers": known, "arms": known.groupby("arm").mean()}.items():
            r = table.drop(columns=judge).corrwith(table[judge], min_periods=LEAST_ARMS)
            part = r.rename_axis("measure").reset_index(name="pearson")
            n = part.measure.map(table.notna().sum())
            parts.append(part.assign(judge=judge, over=over, n=n))
    return pd.concat(parts)


def flips(rows: pd.DataFrame, by: list[str], cluster: str) -> pd.DataFrame:
    """Return how many of n pairs, scored in both orders, change with the order or are ties in both.

    `rate` is the share of those that change, with its interval over `cluster`.
    """
    rows = rows[rows.is_asked & rows.verdict.ne("unscored")]
    rows = rows.assign(flips=rows.is_flipped, ties=rows.verdict.eq("tie") & ~rows.is_flipped)
    table = by_group(rows, by, "flips", cluster).rename(columns={"mean": "rate"})
    return table.join(rows.groupby(by)[["flips", "ties"]].sum(), on=by)
