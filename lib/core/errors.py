"""The four exceptions of the package; each message says what, where and what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError


class BadStudy(ValueError):
    """A study file, a parameter or a command that cannot be used; nothing has run yet."""


class BadInput(ValueError):
    """A file, a document or a record that cannot be used, or one that is missing."""


class BadReply(ValueError):
    """A model's or an endpoint's reply that cannot be used."""


class Stopped(RuntimeError):
    """Work ended before it was complete; what is finished is kept, the same command resumes."""


def choices(name: object, legal: Iterable[str]) -> str:
    """Return "choose among a, b", and the one that `name` resembles, for an error message."""
    legal = list(legal)
    close = get_close_matches(str(name), legal, 1)
    return f"choose among {', '.join(legal)}" + "".join(f". Did you mean {one}?" for one in close)


def model_named(key: str, model: str) -> str:
    """The `model` that a study's `key` names. Raises BadStudy for none, and for rules."""
    if model in ("", "rules"):
        raise BadStudy(
            f"{key}: {model!r} names no model: set annotator, normalizer and judge to models, such "
            "as gpt-4.1"
        )
    return model


def explained(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the first error of `model` as ", key, key: what is wrong", with the legal keys."""
    first = error.errors()[0]
    place = "".join(f", {part}" for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            legal = [key for key in model.model_fields if key != "name"]
            return f": {first['loc'][-1]!r} is unknown; {choices(first['loc'][-1], legal)}"
        case "value_error":
            return f"{place}, {first['ctx']['error']}"
        case _:
            return f"{place}: {first['input']!r}: {first['msg']}"
