"""What models are made of: tokenizers, blocks of BERT and GPT-2, and the reading of weights."""
