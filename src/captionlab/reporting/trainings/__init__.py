"""Pages of trainings: curves, captions over time, model cards, and the line from published weights to each model."""
