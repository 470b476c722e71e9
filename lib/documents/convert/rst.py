"""Read reStructuredText with docutils; Sphinx's roles and directives keep their text."""

import re

from lib.documents.convert import elements, html
from lib.documents.convert.markdown import Converted, write_markdown

_DIRECTIVE = re.compile(r"^[ \t]*\.\. +([A-Za-z][\w:+-]*)::", re.M)
_ROLE = re.compile(r":([A-Za-z][\w:+.-]*):`")
_TARGET = re.compile(r"(.+?)\s*<[^<>]*>", re.S)
_CODE_IN_LINK = re.compile(r"```([^`]+)`` <[^<>]+>`__?")  # as pandoc writes it; docutils has none
_NO_TEXT = ("toctree", "index", "highlight", "currentmodule", "module", "default-domain")
_SETTINGS = {  # no file is included, no raw HTML passed on, no configuration read
    "file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True,
    "halt_level": 5, "report_level": 5, "doctitle_xform": False, "initial_header_level": 1,
    "embed_stylesheet": False, "stylesheet_path": "", "syntax_highlight": "none",
    "math_output": "latex", "smart_quotes": False, "traceback": True}


def read(raw: bytes) -> Converted:
    """Convert an RST file. Raises BadInput if it is not decodable."""
    from docutils.core import publish_string

    text = _CODE_IN_LINK.sub(r"``\1``", html.decoded(raw))
    _register(text)
    page = publish_string(text, writer="html5", settings_overrides=_SETTINGS)
    root = html.tree(page.decode())
    for element in root.iter("span"):
        if "literal" in element.get("class", "").split():
            element.tag = "code"
    return write_markdown(elements.walked(root))


def _register(text: str) -> None:
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, languages, roles

    class Plain(Directive):
        """A directive whose argument and content are read as text."""

        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        option_spec = type("Any", (dict,), {"__getitem__": lambda *_: directives.unchanged})()

        def run(self):
            node = nodes.container()
            if self.name not in _NO_TEXT:
                node += [nodes.paragraph("", one) for one in self.arguments]
                self.state.nested_parse(self.content, self.content_offset, node)
            return [node]

    def role(name, rawtext, words, *_, **__):
        shown = _TARGET.fullmatch(words)
        return [nodes.inline("", shown[1]) if shown else nodes.literal("", words.lstrip("~!"))], []

    english = languages.get_language("en")
    for name in set(_DIRECTIVE.findall(text)) - {*directives._directives, *english.directives}:
        directives.register_directive(name, Plain)
    for name in set(_ROLE.findall(text)) - {*roles._roles, *english.roles}:
        roles.register_local_role(name, role)
