"""Tables, figures and model cards made from the summaries of a run.

The package also reads published values, judges claims and renders all tables.
"""
