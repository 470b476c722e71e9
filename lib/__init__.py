"""The mechanisms of the study; the notebooks in notebooks/ are its argument and call them."""
