"""Judgements that nobody made: of the toy world, where what an image shows is known, simulated judges rate captions."""
