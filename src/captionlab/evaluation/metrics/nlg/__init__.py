"""BLEU, METEOR, ROUGE-L and CIDEr of pycocoevalcap, of each caption, with what the corpus values are made from."""
