"""Study: participants, real or simulated, find an image among similar images by its caption."""
