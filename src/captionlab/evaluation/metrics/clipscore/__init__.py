"""CLIPScore (Hessel et al. 2021) and PAC-S (Sarto et al. 2023), also with references, by any encoder of texts."""
