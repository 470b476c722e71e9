"""Show the blinded sheet in JupyterLab: one answer at a time, labelled by a click (paper, 4.4)."""

import html
import importlib.util
import os
from pathlib import Path

from lib.analyze.agreement.sheet import LABELS, Item, write_sheet
from lib.core.process import VARIABLE


def has_front_end() -> bool:
    """Return whether a widget would be visible: in JupyterLab with ipywidgets, not in a runner."""
    return ("JPY_SESSION_NAME" in os.environ and VARIABLE not in os.environ
            and importlib.util.find_spec("ipywidgets") is not None)


def label_widget(path: Path, items: list[Item], labels: dict[str, str]):
    """Return an ipywidgets.VBox that shows `items` one by one and saves the sheet at each click.

    The widget adds to `labels` (those given so far) and opens at the first item without a label;
    after each label it shows the next one without.
    """
    import ipywidgets as widgets  # needed only with a front end

    text, count = widgets.HTML(), widgets.Label()
    options = [("no label", ""), *((label, label) for label in LABELS)]
    choice = widgets.ToggleButtons(options=options)
    first = next((n for n, item in enumerate(items) if item.item not in labels), 0)
    place = widgets.BoundedIntText(value=first + 1, min=1, max=len(items), description="answer")

    def show(_: object = None) -> None:
        item = items[place.value - 1]
        text.value = as_html(item)
        choice.value = labels.get(item.item, "")
        done = sum(item.item in labels for item in items)
        count.value = f"{done} of {len(items)} labelled, in {path.name}"

    def keep(change: dict) -> None:
        item = items[place.value - 1].item
        if change["new"] == labels.get(item, ""):
            return
        if change["new"]:
            labels[item] = change["new"]
        else:
            del labels[item]
        write_sheet(path, items, labels)
        later = [n for n, one in enumerate(items, 1) if n > place.value and one.item not in labels]
        if change["new"] and later:
            place.value = later[0]
        else:
            show()

    show()
    place.observe(show, "value")
    choice.observe(keep, "value")
    return widgets.VBox([widgets.HBox([place, count]), choice, text])  # buttons stay in place


def as_html(item: Item) -> str:
    """Return what a person sees of an item, escaped, without arm and verdict."""
    parts = (("Question", item.question), ("Reference answer", item.reference),
             ("Answer", item.answer))
    return "".join(f'<p><b>{name}</b></p>'
                   f'<pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
                   for name, text in parts)
