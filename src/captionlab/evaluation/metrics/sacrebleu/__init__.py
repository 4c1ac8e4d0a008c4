"""SacreBLEU (Post 2018): BLEU of captions as they were written, by the library sacrebleu with its defaults."""
