"""Load prompts/*.md: the text sent to a model, one file per task, with Jinja slots."""

from functools import cache

import jinja2

from lib.core.paths import REPOSITORY


def prompt_template(name: str) -> jinja2.Template:
    """Return the template prompts/<name>.md; rendering it without a value for a slot is an error.

    Give `name` as a literal, as in `prompt_template("judge").render(question=…)`: lib.core.digest
    reads it, so that a changed prompt re-runs the stages that use it.
    """
    return _template((REPOSITORY / "prompts" / f"{name}.md").read_text(encoding="utf-8"))


@cache
def _template(text: str) -> jinja2.Template:
    """Compile once, because compiling takes as long as a small model's answer."""
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)
