"""FOIL (Shekhar et al. 2017): captions of COCO, and the same with a wrong noun."""
