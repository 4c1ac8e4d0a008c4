"""CaptionQA (Yang et al. 2025): questions with several choices about natural images, documents, shops and robots."""
