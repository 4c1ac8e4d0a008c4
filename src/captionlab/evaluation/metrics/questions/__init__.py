"""Questions about images that captions answer, by kind of question."""
