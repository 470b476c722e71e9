"""Write log lines of key=value pairs: requests passing through services, in time order."""

from datetime import datetime, timedelta
from random import Random

from lib.structext.generate.language import Item, Language, Setting, limits_by_answer

LEVELS = ("DEBUG", "ERROR", "INFO", "WARN")
STATUSES = (200, 201, 302, 404, 500)
FIELDS = ("event", "time", "level", "service", "request", "duration_ms", "status")
LONGEST = 5000  # ms


class Log:
    """A log with one line per node of the tree, about three per request. rows[i] has FIELDS."""

    def __init__(self, setting: Setting) -> None:
        rng, names, n_rows = setting.rng, setting.names, setting.tree.n_nodes
        self.is_corrected = setting.is_corrected
        requests = names.ids(max(n_rows // 3, 1))
        now = datetime(2026, 1, 1) + timedelta(seconds=rng.randrange(365 * 86_400))
        self.rows: list[dict[str, str | int]] = []
        for event in names.primary_keys(n_rows):
            now += timedelta(seconds=rng.randint(1, 90))
            self.rows.append(dict(zip(FIELDS, (
                event, f"{now.isoformat()}Z", rng.choice(LEVELS), names.services[rng.randrange(7)],
                rng.choice(requests), rng.randint(1, LONGEST), rng.choice(STATUSES)), strict=True)))
        self.text = "\n".join([" ".join([f"{field}={value}" for field, value in row.items()])
                               for row in self.rows])


def _field(document: Log, rng: Random) -> Item:
    row, field = rng.choice(document.rows), rng.choice(FIELDS[1:])
    return Item({"field": field, "key": row["event"]}, str(row[field]))


def _of_level(document: Log, rng: Random) -> Item:
    """Draw any level if faithful (most answers: 0), else all answers equally often."""
    level = rng.choice(LEVELS)
    counts = {one: sum(row["level"] == one for row in document.rows) for one in LEVELS}
    if document.is_corrected:
        n = rng.choice(sorted(set(counts.values())))
        level = rng.choice([one for one in LEVELS if counts[one] == n])
    return Item({"level": level}, str(counts[level]))


def _slow(document: Log, rng: Random) -> Item:
    """Draw any limit if faithful, else all answers equally often."""
    service, limit = rng.choice(document.rows)["service"], rng.randint(1, LONGEST)
    durations = [row["duration_ms"] for row in document.rows if row["service"] == service]
    if document.is_corrected:
        limits = limits_by_answer(durations, 1, LONGEST)
        limit = rng.randint(*limits[rng.choice(sorted(limits))])
    return Item({"service": service, "limit": limit},
                str(sum(duration > limit for duration in durations)))


def _route(document: Log, rng: Random) -> Item:
    request = rng.choice(document.rows)["request"]
    services = [str(row["service"]) for row in document.rows if row["request"] == request]
    return Item({"request": request}, "->".join(services))


LOG = Language(Log, (_field, _of_level, _slow, _route))
