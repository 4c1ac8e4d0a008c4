"""A weighted sum of rewards."""
