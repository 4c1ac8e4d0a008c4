"""Metrics of captions: a folder for each table of scores, with its keys and facts (`config.py`) and its values.

The workflow reads FACTS (captionlab.config.metrics.MetricFacts) without importing the metric. Rule summarise_evaluation
calls `results` of `metric.py` for each table that a config asks for. `of_captions` yields the metrics that single
captions have, if any.

A metric whose facts have `reads` needs no rule of its own: `SCORES` is the schema of the table, and `score` makes its
columns from captionlab.evaluation.inputs, in rule score_captions. Every other metric has a rule and a script.
"""
