"""CLIP: an image tower and a text tower in one space, built by open_clip, loaded and saved, frozen for use."""
