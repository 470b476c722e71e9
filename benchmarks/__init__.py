"""Measurements reported in the README files; `make bench` repeats them."""

import lib.tasks.spark.structures  # noqa: F401 (registers them)
