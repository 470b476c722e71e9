"""The four exceptions of the package; each message says what, where and what to do next."""


class BadStudy(ValueError):
    """A study file, a parameter or a command that cannot be used; nothing has run yet."""


class BadInput(ValueError):
    """A file, a document or a record that cannot be used, or one that is missing."""


class BadReply(ValueError):
    """A model's or an endpoint's reply that cannot be used."""


class Stopped(RuntimeError):
    """Work ended before it was complete; what is finished is kept, the same command resumes."""
