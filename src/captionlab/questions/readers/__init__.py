"""Readers of questions: a folder for each, with `config.py` and `reader.py`.

`reader.py` has a function `read(config, root, corpus)` that yields questions (`captionlab.questions.entries`). `corpus`
is the corpus of the images.
"""
