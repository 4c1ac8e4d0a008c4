"""Plurals of English nouns."""

import re


def regular_plural(noun: str) -> str:
    """Return the regular plural of a lower-case noun or compound; only the last word of a compound changes."""
    plural = f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"
    return re.sub(r"(?<=[^aeiou])ys$", "ies", plural)
