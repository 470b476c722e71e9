"""The errors of the solver."""


class Unsolvable(ValueError):
    """The question cannot be answered from the text; the message says which part is at fault."""


class Broken(Unsolvable):
    """The text is not well-formed in its language."""


def only(found: list, what: str):
    """The first of `found`. Raises Unsolvable where nothing was found."""
    if not found:
        raise Unsolvable(f"the reference has no {what}")
    return found[0]
