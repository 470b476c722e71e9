"""A made-up system: capitals of three continents, asked with a one-line text."""

from lib.tasks.task import Final, Task
from tests.rows import query as make_query

CAPITALS = {
    "Europe": "Paris Rome Oslo Bern",
    "Asia": "Tokyo Hanoi Seoul Doha",
    "Africa": "Cairo Accra Dakar Tunis",
}


def decide(queries, answers):
    found = []
    for query, answer in zip(queries, answers, strict=True):
        verdict = "correct" if answer == query.answer else "incorrect"
        found.append(("unscored", "a guess") if "?" in answer else (verdict, "compared"))
    return found


class Capitals(Task):
    groups, cluster = ("continent",), "country"
    score = staticmethod(decide)

    def final(self, query, reply):
        text = reply.strip().partition("\n")[0]
        return Final(text, "" if text else "an empty reply")

    def replies(self, queries, rows):
        wrong = {
            "Rome-1": "Milan",
            "Rome-2": "Turin\nof course",
            "Oslo-1": "Bergen",
            "Tunis-1": "Sfax",
            "Tunis-2": "Tunis?",
        }
        return {query.query_id: wrong.get(query.query_id, query.answer) for query in queries}

    def about(self, query, rows):
        return {"continent": query.block_type, "country": query.document_id}


TASK = Capitals()
QUERIES = [
    make_query(
        query_id=f"{city}-{n}",
        document_id=f"country of {city}",
        question=f"Capital {n}?",
        answer=city,
        block_type=continent,
        context=f"It is {city}.\nThe capital is",
    )
    for continent, cities in CAPITALS.items()
    for city in cities.split()
    for n in (1, 2)
]
