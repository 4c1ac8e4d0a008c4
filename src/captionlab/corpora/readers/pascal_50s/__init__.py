"""Pascal-50S (Vedantam et al. 2015): images of UIUC Pascal, each with 50 sentences."""
