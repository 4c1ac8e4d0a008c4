"""Published differences: the values that rows of ROLE_DIFFERENCES would have by the numbers that a paper prints."""

from collections.abc import Callable, Mapping, Sequence

from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.values import NEARNESS, NON_INFERIORITY, Row
from captionlab.statistics.intervals import SIMILAR

# Row, column and metric of a table, without the table.
PrintedCell = tuple[str, str, str]
# A side of a difference: a weighted sum of numbers of a table, or a fixed value.
Side = Mapping[PrintedCell, float] | float
Sides = tuple[Side, Side]


def printed_difference(
    published: Published,
    row: Row,
    sides_of: Callable[[Row], Sides | None],
    together: Sequence[tuple[str, ...]] = (),
) -> float | None:
    """Return the difference, nearness or non-inferiority computed from the numbers of one table, or None.

    `sides_of` returns the two sides of a row. For a nearness or non-inferiority, it receives the row of the measure
    that it is about. A non-inferiority is about a measure of which higher values are better; the papers print no other.
    Each group of tables in `together` counts as one table. Returns None if no table prints all numbers.
    """
    kind = next((prefix for prefix in (NEARNESS, NON_INFERIORITY) if row["measure"].startswith(prefix)), "")
    sides = sides_of({**row, "measure": row["measure"].removeprefix(kind)})
    if sides is None:
        return None
    for tables in [*((table,) for table in dict.fromkeys(table for table, *_ in published.values)), *together]:
        first, second = (_value(published, tables, side) for side in sides)
        if first is not None and second is not None:
            apart = first - second
            margin = SIMILAR * abs(second)
            return {NEARNESS: margin - abs(apart), NON_INFERIORITY: margin + apart}.get(kind, apart)
    return None


def _value(published: Published, tables: tuple[str, ...], side: Side) -> float | None:
    """Return the fixed value, or the weighted sum of numbers in these tables; None if a number is missing."""
    if isinstance(side, float):
        return side
    numbers = {place: found.value for place in side for table in tables if (found := published.find(table, *place))}
    return sum(weight * numbers[place] for place, weight in side.items()) if len(numbers) == len(side) else None


def pair(first: PrintedCell, second: PrintedCell) -> Sides:
    """Return the two sides of a difference between one number and another."""
    return {first: 1.0}, {second: 1.0}


def apart(first: PrintedCell, second: PrintedCell) -> Side:
    """Return the first number minus the second as one side of a difference."""
    return {first: 1.0, second: -1.0}


def mean(rows: Sequence[str], column: str, metric: str) -> Side:
    """Return the mean of a column over some rows as one side of a difference."""
    return {(row, column, metric): 1 / len(rows) for row in rows}
