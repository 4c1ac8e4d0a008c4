"""Corrections of p-values for the number of comparisons."""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values that are corrected for their number (Holm 1979), each at least as large as before.

    The probability that any of them is at most 0.05 although no difference exists is at most 0.05. A missing p-value
    stays missing and does not count.
    """
    order = sorted((value, place) for place, value in enumerate(p_values) if value is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (value, place) in enumerate(order):
        largest = max(largest, min(1.0, value * (len(order) - rank)))
        corrected[place] = largest
    return corrected
