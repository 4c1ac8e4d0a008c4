"""Readers of questions: a folder for each, with `config.py` and `reader.py`.

`reader.py` has a function `read(config, root, corpus)` that yields the questions about images (`captionlab.questions.entries`).
"""
