"""ViLBERT (Lu et al. 2019): a BERT for words and one for regions that attend to each other in between."""
