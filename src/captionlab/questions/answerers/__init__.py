"""Answerers of questions: a folder for each, with `config.py` and `answerer.py`.

`answerer.py` has a function `build(config)` that returns an answerer (`captionlab.questions.answering.Answerer`).
"""
