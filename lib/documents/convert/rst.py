"""Read reStructuredText with docutils; Sphinx's roles and directives keep their text."""

import re

from lib.documents.convert import elements, html
from lib.documents.convert.outcome import Converted, made

_DIRECTIVE = re.compile(r"^[ \t]*\.\. +([A-Za-z][\w:+-]*)::", re.M)
_ROLE = re.compile(r":([A-Za-z][\w:+.-]*):`")
_TARGET = re.compile(r"(.+?)\s*<[^<>]*>", re.S)
_LISTS_OF_FILES = ("toctree", "index", "highlight", "currentmodule", "module", "default-domain")
_SETTINGS = {  # no file is included, no raw HTML passed on, no configuration read
    "file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True,
    "halt_level": 5, "report_level": 5, "doctitle_xform": False, "initial_header_level": 1,
    "embed_stylesheet": False, "stylesheet_path": "", "syntax_highlight": "none",
    "math_output": "latex", "smart_quotes": False, "traceback": True}


def read(raw: bytes) -> Converted:
    """Convert an RST file. Raises Refused if it is not decodable."""
    from docutils.core import publish_string

    text = html.decoded(raw)
    unknown = _register(text)
    page = publish_string(text, writer="html5", settings_overrides=_SETTINGS)
    lost = f"directives without a known meaning: {', '.join(unknown)}" if unknown else ""
    root = html.tree(page.decode())
    for element in root.iter("span"):
        if "literal" in element.get("class", "").split():
            element.tag = "code"
    html.strip_unread(root)
    return made(elements.walked(root), lost)


def _register(text: str) -> list[str]:
    """Give unknown roles and directives in `text` a plain meaning; return those with no text."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, languages, roles

    class Plain(Directive):
        """A directive whose argument and content are read as text."""

        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        option_spec = type("Any", (dict,), {"__getitem__": lambda *_: directives.unchanged})()

        def run(self):
            if self.name in _LISTS_OF_FILES:
                return []
            node = nodes.container()
            if self.arguments:
                node += nodes.paragraph("", self.arguments[0])
            self.state.nested_parse(self.content, self.content_offset, node)
            return [node]

    def role(name, rawtext, words, *_, **__):
        shown = _TARGET.fullmatch(words)
        words = shown[1] if shown else words.lstrip("~!")
        return [nodes.literal("", words) if shown is None else nodes.inline("", words)], []

    english = languages.get_language("en")
    for name in set(_DIRECTIVE.findall(text)):
        if name not in directives._directives and name.lower() not in english.directives:
            directives.register_directive(name, Plain)
    for name in set(_ROLE.findall(text)):
        if name not in roles._roles and name.lower() not in english.roles:
            roles.register_local_role(name, role)
    return []
