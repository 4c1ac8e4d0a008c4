"""Metrics of captions: a module for each table of scores, with its declaration and the values of its columns.

The graph reads DECLARATION (captionlab.declarations.ScoreTable). Rule summarise_evaluation calls `results` for each
table that a config asks for. `of_captions` yields the metrics that single captions have, if any.

A module whose declaration has `reads` needs no rule of its own: `SCORES` is the kind of table, and `score` makes its
columns from captionlab.evaluation.given, in a rule that the graph makes. Every other module has a rule and a script.
"""
