"""Plurals of English nouns."""

import re


def regular_plural(noun: str) -> str:
    """Return the regular plural of a noun or compound in lower case, which only its last word shows."""
    plural = f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"
    return re.sub(r"(?<=[^aeiou])ys$", "ies", plural)
