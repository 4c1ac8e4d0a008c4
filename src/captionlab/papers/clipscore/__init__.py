"""Hessel et al. 2021 (clipscore): do metrics of captions agree with people?"""
