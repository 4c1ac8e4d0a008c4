"""Rows of ROLE_VALUES and ROLE_DIFFERENCES that are no matter of roles."""

from typing import Any


def row(
    corpus: str,
    experiment: str,
    subject: str,
    measure: str,
    number: tuple[float, float, float],
    n: int,
    source: str | None = None,
    level: float | None = None,
    seeds: int = 1,
    against: str | None = None,
) -> dict[str, Any]:
    """A row of values or, with `against`, of differences; `number` is the value with the ends of its interval."""
    place = {"experiment": experiment, "subject": subject, "source": source, "level": level, "corpus": corpus}
    ends = {"ci_low": number[1], "ci_high": number[2], "seeds": seeds, "n": n}
    what = {"value": number[0]} if against is None else {"against": against, "own": None, "difference": number[0]}
    return {**place, "measure": measure, "scorer": None, **what, **ends}
