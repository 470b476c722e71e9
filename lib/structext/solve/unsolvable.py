"""Define the errors of the solver."""


class Unsolvable(ValueError):
    """Raised if the text does not answer the question; the message names the part at fault."""


class Broken(Unsolvable):
    """Raised if the text is not well-formed in its language."""


def only(found: list, what: str):
    """Return the first of `found`. Raises Unsolvable if there is none."""
    if not found:
        raise Unsolvable(f"the reference has no {what}")
    return found[0]
