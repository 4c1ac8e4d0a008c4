"""Ranges of lengths by which captions are grouped."""

from typing import NamedTuple

# Largest number of words of a caption in each range of lengths but the last.
LENGTHS = (5, 10, 15, 20, 30, 50, 100)


class LengthRange(NamedTuple):
    """A range of lengths of captions in words: its name, and its ends; the last range has no upper end."""

    name: str
    shortest: int
    longest: int | None


def length_ranges() -> list[LengthRange]:
    """Return the ranges of lengths, the shortest first."""
    starts = [0, *(longest + 1 for longest in LENGTHS)]
    ranges = [LengthRange(f"{start} to {end} words", start, end) for start, end in zip(starts, LENGTHS, strict=False)]
    return [*ranges, LengthRange(f"{starts[-1]} words or more", starts[-1], None)]
