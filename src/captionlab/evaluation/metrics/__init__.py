"""Metrics of captions: a module for each table of scores, with its declaration and how its columns become values.

The graph reads DECLARATION (captionlab.declarations.ScoreTable); rule summarise_evaluation calls `results` of each
table that a config asks for. A module that declares what it `reads` is all that there is of its table: `SCORES` is the
kind of table and `score` makes its columns, of what it is given (captionlab.evaluation.given), in a rule that the graph
makes. The other modules have a rule and a script of their own. `of_captions`
gives metrics that single captions have, if there are any.
"""
