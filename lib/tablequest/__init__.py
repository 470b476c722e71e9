"""TableQuest: questions at three levels over annual reports full of tables, every calculation re-computed.

Filings are read into passages and grids, questions are drawn from the grids (by rules or a model), asked with the
passage in the prompt, scored, and the models rated by pairwise judging.
"""
