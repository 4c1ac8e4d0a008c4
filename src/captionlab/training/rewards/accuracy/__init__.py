"""Whether a caption finds its image among the candidates."""
