"""The controlled experiment: the same fact in every structure, so that the effect of structure is causal (paper, 5.2)."""
