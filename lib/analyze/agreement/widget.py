"""The blinded sheet in JupyterLab: one answer at a time, a click for its label, saved at once (beside paper, 4.4)."""

import html
import importlib.util
import os
from pathlib import Path

from lib.analyze.agreement.sheet import LABELS, Item, write_sheet
from lib.core.process import VARIABLE


def has_front_end() -> bool:
    """Whether a widget would be seen: Jupyter's server started this kernel, no runner did, and ipywidgets is there."""
    return ("JPY_SESSION_NAME" in os.environ and VARIABLE not in os.environ
            and importlib.util.find_spec("ipywidgets") is not None)


def label_widget(path: Path, items: list[Item], labels: dict[str, str]):
    """A widget (ipywidgets.VBox) that shows `items` one by one and writes the sheet at `path` after every click.

    `labels` are those given so far; the widget adds to it. It opens at the first item without a label.
    """
    import ipywidgets as widgets  # where there is no front end, nothing needs them
    text, count = widgets.HTML(), widgets.Label()
    choice = widgets.ToggleButtons(options=[("no label", ""), *((label, label) for label in LABELS)])
    first = next((n for n, item in enumerate(items) if item.item not in labels), 0)
    place = widgets.BoundedIntText(value=first + 1, min=1, max=len(items), description="answer")

    def show(_: object = None) -> None:
        item = items[place.value - 1]
        text.value = as_html(item)
        choice.value = labels.get(item.item, "")
        count.value = f"{sum(item.item in labels for item in items)} of {len(items)} labelled, in {path.name}"

    def keep(change: dict) -> None:
        item = items[place.value - 1].item
        if change["new"] == labels.get(item, ""):
            return
        labels.update({item: change["new"]})
        if not change["new"]:
            del labels[item]
        write_sheet(path, items, labels)
        show()

    show()
    place.observe(show, "value")
    choice.observe(keep, "value")
    return widgets.VBox([widgets.HBox([place, count]), text, choice])


def as_html(item: Item) -> str:
    """What a person sees of an item, escaped: the texts come from documents and models. No arm and no verdict."""
    parts = (("Question", item.question), ("Reference answer", item.reference), ("Answer", item.answer))
    return "".join(f'<p><b>{name}</b></p><pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
                   for name, text in parts)
