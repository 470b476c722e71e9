"""Render HTML pages from Jinja templates; every value is escaped."""

from pathlib import Path

import jinja2

from lib.core.paths import package_file

STYLE = package_file("core/style.css.j2")  # what all pages share: {% include "style.css.j2" %}


def page(path: Path, **slots: object) -> str:
    """Return the template at `path` with its slots filled; a slot without a value is an error."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, lstrip_blocks=True,
                                     loader=jinja2.FileSystemLoader(STYLE.parent))
    return environment.from_string(path.read_text(encoding="utf-8")).render(**slots)
