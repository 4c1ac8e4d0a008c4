"""Training of captioners of the Hugging Face hub by TRL, on accelerate: `engine: trl` of the config."""
