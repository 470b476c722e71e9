"""Files and batches of tests/llm_server.py, in OpenAI's form."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from tests.llm_server_faults import Answer, Asked, error
from tests.llm_server_limits import tokens_asked


@dataclass(frozen=True)
class BatchRules:
    """How batches proceed: done at the `polls`-th look at them, and how they end."""

    polls: int = 2
    ends: str = "completed"  # or failed: no line is answered; expired, cancelled: half are
    queue_tokens: int | None = None  # a batch that queues more tokens than this fails at once


@dataclass
class Batches:
    """`answer` gives the reply to one line, without latency and limits."""

    rules: BatchRules
    answer: Callable[[Asked], Answer]
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)

    def route(
        self, method: str, path: str, query: str, content_type: str, body: bytes
    ) -> Answer | None:
        """Return the reply to a request below /v1/files or /v1/batches, None for any other."""
        parts = path.removeprefix("/v1/").split("/")
        match method, *parts:
            case "POST", "files":
                return self._upload(_file_in(body, content_type))
            case "GET", "files", file_id, "content" if file_id in self.files:
                return Answer(self.files[file_id], content_type="application/octet-stream")
            case "POST", "batches":
                return self._create(json.loads(body))
            case "GET", "batches":
                return self._list(parse_qs(query))
            case "GET", "batches", batch_id if batch_id in self.batches:
                return _json(self._look(batch_id))
            case "POST", "batches", batch_id, "cancel" if batch_id in self.batches:
                self.batches[batch_id]["status"] = "cancelled"
                return _json(self.batches[batch_id])
            case _, "files" | "batches", *_:
                return error(404, f"No such object: {parts[1] if len(parts) > 1 else path}")
        return None

    def _store(self, content: bytes) -> str:
        file_id = f"file-{len(self.files) + 1}"
        self.files[file_id] = content
        return file_id

    def _upload(self, content: bytes) -> Answer:
        return _json(
            {
                "id": self._store(content),
                "object": "file",
                "bytes": len(content),
                "purpose": "batch",
                "created_at": int(time.time()),
                "filename": "requests.jsonl",
                "status": "processed",
            }
        )

    def _create(self, asked: dict) -> Answer:
        lines = self.files.get(asked["input_file_id"])
        if lines is None:
            return error(400, f"No such file: {asked['input_file_id']}", param="input_file_id")
        batch = {
            "id": f"batch_{len(self.batches) + 1}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "errors": None,
            "input_file_id": asked["input_file_id"],
            "status": "validating",
            "completion_window": asked["completion_window"],
            "created_at": int(time.time()),
            "output_file_id": None,
            "error_file_id": None,
            "metadata": asked.get("metadata"),
            "request_counts": {"total": len(_rows(lines)), "completed": 0, "failed": 0},
        }
        self.batches[batch["id"]], self.looks[batch["id"]] = batch, 0
        return _json(batch)

    def _list(self, query: dict[str, list[str]]) -> Answer:
        newest = list(self.batches.values())[::-1]
        if after := query.get("after"):
            newest = newest[[batch["id"] for batch in newest].index(after[0]) + 1 :]
        limit = int(query.get("limit", ["20"])[0])
        page = newest[:limit]
        return _json(
            {
                "object": "list",
                "data": page,
                "has_more": len(newest) > limit,
                "first_id": page[0]["id"] if page else None,
                "last_id": page[-1]["id"] if page else None,
            }
        )

    def _look(self, batch_id: str) -> dict:
        batch = self.batches[batch_id]
        if batch["status"] in ("validating", "in_progress"):
            self.looks[batch_id] += 1
            batch["status"] = "in_progress"
            limit = self.rules.queue_tokens
            waiting = sum(
                tokens_asked(row["body"])
                for other in self.batches.values()
                if other["status"] == "in_progress"
                for row in _rows(self.files[other["input_file_id"]])
            )
            if limit is not None and waiting > limit:
                self._fail(
                    batch,
                    "token_limit_exceeded",
                    "Enqueued token limit reached for this "
                    f"model. Limit: {limit:,} enqueued tokens.",
                )
            elif self.looks[batch_id] >= self.rules.polls:
                self._end(batch)
        return batch

    def _end(self, batch: dict) -> None:
        if self.rules.ends == "failed":
            return self._fail(
                batch, "invalid_json_line", "This line is not parseable as valid JSON."
            )
        rows = _rows(self.files[batch["input_file_id"]])
        n_done = len(rows) // (1 + (self.rules.ends != "completed"))
        expired = {
            "code": "batch_expired",
            "message": "This request could not be executed before the completion window expired.",
        }
        lines = [self._line(row) for row in rows[:n_done]]
        lines += [("error", _line(row, None, expired)) for row in rows[n_done:]]
        for kind in ("output", "error"):
            if chosen := [json.dumps(line) for where, line in lines if where == kind]:
                batch[f"{kind}_file_id"] = self._store("\n".join(chosen).encode() + b"\n")
        n_failed = sum(where == "error" for where, _ in lines)
        counts = {"total": len(rows), "completed": len(rows) - n_failed, "failed": n_failed}
        batch |= {
            "status": self.rules.ends,
            f"{self.rules.ends}_at": int(time.time()),
            "request_counts": counts,
        }

    def _fail(self, batch: dict, code: str, message: str) -> None:
        failed = {"code": code, "message": message, "param": None, "line": None}
        batch |= {
            "status": "failed",
            "failed_at": int(time.time()),
            "errors": {"object": "list", "data": [failed]},
        }

    def _line(self, row: dict) -> tuple[str, dict]:
        answer = self.answer(Asked(row["body"]))
        text = answer.body.decode()
        if answer.status != 200:
            return "error", _line(row, _response(answer.status, _parsed(text)), None)
        return "output", _line(row, _response(200, _parsed(text)), None)


def _line(row: dict, response: dict | None, failed: dict | None) -> dict:
    return {"id": "batch_req", "custom_id": row["custom_id"], "response": response, "error": failed}


def _response(status: int, body: object) -> dict:
    return {"status_code": status, "request_id": "req", "body": body}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _rows(content: bytes) -> list[dict]:
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def _file_in(body: bytes, content_type: str) -> bytes:
    boundary = b"--" + re.search(r'boundary="?([^";]+)', content_type)[1].encode()
    part = next(part for part in body.split(boundary) if re.search(rb'name="file"', part[:500]))
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")


def _json(body: dict) -> Answer:
    return Answer(json.dumps(body).encode())
