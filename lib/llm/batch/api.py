"""Call an endpoint's file and batch APIs. All calls raise Fault; only a new batch costs money."""

from pydantic import BaseModel, ValidationError

from lib.llm.batch.rows import Sent
from lib.llm.faults import Fault
from lib.llm.http import Http

GONE = (404, 405, 501)  # statuses of what the endpoint does not know
_A_DAY = 86_400  # seconds; the clocks of two machines differ by less


class _Errors(BaseModel):
    data: list[dict[str, str | int | None]] | None = None  # each with code and message


class Batch(BaseModel):
    """What the endpoint says of a batch, or of a file, which has no more than an id here."""

    id: str
    created_at: float = 0.0
    status: str = ""
    completed_at: float | None = None
    request_counts: dict[str, int | None] | None = None
    errors: _Errors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    metadata: dict[str, str] | None = None


class _Page(BaseModel):
    data: list[Batch]
    has_more: bool = False


class BatchApi:
    """Batch calls over `http`."""

    def __init__(self, http: Http) -> None:
        self.http = http

    async def upload(self, content: bytes) -> str:
        """Upload an input file; return its id."""
        import aiohttp
        form = aiohttp.FormData({"purpose": "batch"})
        form.add_field("file", content, filename="requests.jsonl")
        return _read(Batch, (await self.http.call("POST", "/files", form=form))[0]).id

    async def create(self, file_id: str, batch: Sent) -> str:
        """Create a batch from a file; return its id."""
        made, _ = await self.http.call("POST", "/batches", {
            "input_file_id": file_id, "endpoint": "/v1/chat/completions",
            "completion_window": "24h", "metadata": {"digest": batch.digest}})
        return _read(Batch, made).id

    async def find(self, batch: Sent) -> str:
        """Return the id of the batch with our digest, or "" if the endpoint lists none."""
        path = "/batches?limit=100"
        while got := await self._get(path):
            page = _read(_Page, got)
            for one in page.data:
                if (one.metadata or {}).get("digest") == batch.digest:
                    return one.id
            # The newest are listed first.
            if not page.has_more or page.data[-1].created_at < batch.created - _A_DAY:
                break
            path = f"/batches?limit=100&after={page.data[-1].id}"
        return ""

    async def look(self, batch: Sent) -> Batch | None:
        """Return the state of a batch; None if the endpoint does not know it."""
        got = await self._get(f"/batches/{batch.id}")
        return None if got is None else _read(Batch, got)

    async def read(self, file_id: str) -> bytes:
        """Return a file; empty if it was deleted or has expired."""
        return await self._get(f"/files/{file_id}/content") or b""

    async def _get(self, path: str) -> bytes | None:
        try:
            return (await self.http.call("GET", path))[0]
        except Fault as fault:
            if fault.status in GONE:
                return None
            raise


def _read(kind: type[BaseModel], body: bytes) -> BaseModel:
    try:
        return kind.model_validate_json(body)
    except ValidationError:  # a proxy's page, for example
        raise Fault("the reply is not what was asked for", is_worth_repeating=True) from None
