"""The command `captionlab`: a module for each of its commands."""
