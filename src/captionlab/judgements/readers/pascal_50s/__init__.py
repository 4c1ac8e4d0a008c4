"""Pascal-50S (Vedantam et al. 2015): pairs of captions, in each of which 48 people chose the better caption."""
