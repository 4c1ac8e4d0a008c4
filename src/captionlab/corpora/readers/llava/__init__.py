"""LLaVA's conversations about images."""
