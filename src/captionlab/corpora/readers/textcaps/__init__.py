"""TextCaps."""
