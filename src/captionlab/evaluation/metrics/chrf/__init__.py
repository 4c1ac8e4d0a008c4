"""chrF (Popović 2015): the F-score of the n-grams of characters, for captions in any language."""
