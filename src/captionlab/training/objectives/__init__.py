"""What captioners, encoders and scorers are trained to do."""
