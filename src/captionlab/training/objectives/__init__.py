"""Training objectives of captioners, encoders and scorers, one in each module."""
