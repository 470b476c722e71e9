"""Find the product that a folder of documents is about, by the name that most use (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Sequence

from lib.core.records import Document

_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?:[A-Z][a-z]+)*(?: [A-Z][a-z]+)?")
# a project's documents link to its own repository and site
_LINKED = re.compile(r"https?://(?:github\.com/([\w-]+)|(?:[\w-]+\.)?([\w-]+)\.(?:io|org|com|dev)\b)")
_OF_DOCUMENTS = re.compile(r"[-_.](?:docs?|documentation|manual|main|master|"
                           r"specification|spec|website|site)$", re.I)
_LEAST_LINKED = 0.1  # of a folder's documents that link to it
_LEAST_SHARE = 0.6  # of a folder's documents that must name a product for it to be the folder's
_NEARLY_ALL = 0.9  # of a folder's documents that name its product: it is that of the others too
_FEW_DOCUMENTS = 4


def products_of(documents: Sequence[Document]) -> dict[str, str]:
    """Return the product of each document that has one, by document_id.

    Documents in one outermost folder share a product. A folder without one has that of all.
    """
    folders: dict[str, list[Document]] = {}
    for document in documents:
        folders.setdefault(_folder(document), []).append(document)
    whole = _folder_product(documents, "") if len(folders) > 1 else ""
    found: dict[str, str] = {}
    for folder, within in folders.items():
        product = _folder_product(within, folder) or whole
        naming = [document.document_id for document in within if product in document.text]
        is_of_all = product.lower() in folder.lower() or len(naming) >= _NEARLY_ALL * len(within)
        ids = [document.document_id for document in within] if is_of_all else naming
        found |= dict.fromkeys(ids, product) if product else {}
    return found


def _folder(document: Document) -> str:
    return document.document_id.partition("/")[0] if "/" in document.document_id else ""


# The folder's own name and what the documents link to come before other names
def _folder_product(documents: Sequence[Document], folder: str) -> str:
    if len(documents) < _FEW_DOCUMENTS:
        return ""
    least = _LEAST_SHARE * len(documents)
    product = _written_product(documents, folder, least)
    used: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for document in documents:
        found = Counter(_PROPER.findall(document.text))
        total.update(found)
        used.update(name for name, count in found.items() if count > 1)
    name = max(used, key=lambda name: (used[name], total[name], name), default="")
    is_whole = not product or name.startswith(f"{product} ")  # "Fluent" of "Fluent Bit"
    return name if used[name] >= least and is_whole else product


def _written_product(documents: Sequence[Document], folder: str, least: float) -> str:
    linked = Counter(name for document in documents for name in {
        name.lower() for pair in _LINKED.findall(document.text) for name in pair if name})
    own = _OF_DOCUMENTS.sub("", folder).lower()
    linked[own] += len(documents)
    best = ("", 0)
    for name, count in sorted(linked.items(), key=lambda item: (item[0] != own, item[0])):
        if not name or count < max(2, _LEAST_LINKED * len(documents)):
            continue
        word = re.compile(rf"(?<![\w/.@:`-]){re.escape(name)}(?![\w/@:`-]|\.\w)", re.I)
        found = [Counter(word.findall(document.text)) for document in documents]
        forms: Counter[str] = sum(found, Counter())
        used = sum(one.total() > 1 for one in found)
        if used >= least and used > best[1] and (best[0].lower() != own or not own):
            # in lower case it is often a command
            best = max(forms, key=lambda form: (
                form != form.lower() and 5 * forms[form] >= forms.total(), forms[form])), used
    return best[0]
