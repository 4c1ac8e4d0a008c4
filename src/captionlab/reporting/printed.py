"""What rows of ROLE_DIFFERENCES with a paper's labels would be if the run had measured what the paper prints."""

from collections.abc import Callable, Mapping, Sequence

from captionlab.intervals import SIMILAR
from captionlab.reporting.published import Published
from captionlab.reporting.runs import Row

# Row, column and metric of a table, without the table.
Place = tuple[str, str, str]
# What a difference is of: a sum of numbers of one table, each with its weight, or a fixed value.
Side = Mapping[Place, float] | float
Sides = tuple[Side, Side]

# How the measure of a nearness begins, which follows from the difference and from what it is held against.
NEARNESS = "nearness of "


def printed_difference(
    published: Published,
    row: Row,
    sides_of: Callable[[Row], Sides | None],
    together: Sequence[tuple[str, ...]] = (),
) -> float | None:
    """The difference or nearness, from numbers of one table of the paper; None where it does not print all.

    `sides_of` gives the two sides of a row; of a nearness it gets what that is of. Tables that are `together` count as
    one.
    """
    sides = sides_of({**row, "measure": row["measure"].removeprefix(NEARNESS)})
    if sides is None:
        return None
    for tables in [*((table,) for table in dict.fromkeys(table for table, *_ in published.values)), *together]:
        first, second = (_value(published, tables, side) for side in sides)
        if first is not None and second is not None:
            apart = first - second
            return SIMILAR * abs(second) - abs(apart) if row["measure"].startswith(NEARNESS) else apart
    return None


def _value(published: Published, tables: tuple[str, ...], side: Side) -> float | None:
    """The fixed value, or the sum of numbers in these tables; None where one of them is not there."""
    if isinstance(side, float):
        return side
    numbers = {place: found.value for place in side for table in tables if (found := published.find(table, *place))}
    return sum(weight * numbers[place] for place, weight in side.items()) if len(numbers) == len(side) else None


def pair(first: Place, second: Place) -> Sides:
    """One number against another."""
    return {first: 1.0}, {second: 1.0}


def apart(first: Place, second: Place) -> Side:
    """What the first number is above the second, as one side."""
    return {first: 1.0, second: -1.0}


def mean(rows: Sequence[str], column: str, metric: str) -> Side:
    """The mean of a column over some rows."""
    return {(row, column, metric): 1 / len(rows) for row in rows}
