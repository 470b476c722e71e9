"""The controlled experiment: the same fact in every structure, so that its effect is causal (paper, 5.2)."""
