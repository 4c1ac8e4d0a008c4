"""BLEU, METEOR, ROUGE-L and CIDEr of pycocoevalcap, for each caption, with what their corpus values are computed from."""
