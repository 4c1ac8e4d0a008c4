"""Pascal-50S (Vedantam et al. 2015): pairs of captions of which 48 people each chose the better one."""
