"""Metrics of captions: a module for each table of scores, with its declaration and how its columns become values.

The graph reads DECLARATION (captionlab.declarations.ScoreTable); rule summarise_evaluation calls `results` of each
table that a config asks for. So a table of scores is a module here, a rule and its script.
"""
