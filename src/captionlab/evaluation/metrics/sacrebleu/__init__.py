"""SacreBLEU (Post 2018): BLEU of captions as they were written, by the library sacrebleu as it is by default."""
