"""Networks: parts of models such as tokenizers and blocks of BERT and GPT-2, and functions that read weights."""
