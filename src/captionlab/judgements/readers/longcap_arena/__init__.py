"""LongCap-Arena (Matsuda et al. 2025, VELA): long captions, rated by people from three perspectives."""
