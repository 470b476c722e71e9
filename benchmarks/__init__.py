"""Measurements reported in the README files; `make bench` repeats them."""
