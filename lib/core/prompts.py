"""prompts/*.md: what a model is told, one file per task, with Jinja slots."""

from functools import cache

import jinja2

from lib.core.paths import REPOSITORY


def prompt_template(name: str) -> jinja2.Template:
    """Return prompts/<name>.md; `prompt_template("judge").render(question=…)` fills its slots, and a slot without a value fails.

    Give `name` as a literal: lib.core.digest reads it, so that a changed prompt re-runs the stages that use it.
    """
    return _template((REPOSITORY / "prompts" / f"{name}.md").read_text(encoding="utf-8"))


@cache
def _template(text: str) -> jinja2.Template:
    """Compile once: compiling takes as long as a small model's answer."""
    return jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False).from_string(text)
