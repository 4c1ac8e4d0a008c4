"""SPICE (Anderson et al. 2016) by its authors' program, which pycocoevalcap brings."""
