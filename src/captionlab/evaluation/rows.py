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
    margin: float | None = None,
) -> dict[str, Any]:
    """A row of values or, with `against`, of differences; `number` is the value with the ends of its interval.

    A nearness or a non-inferiority has the `margin` that it is of.
    """
    place = {"experiment": experiment, "subject": subject, "source": source, "level": level, "corpus": corpus}
    ends = {"ci_low": number[1], "ci_high": number[2], "seeds": seeds, "n": n}
    if against is None:
        return {**place, "measure": measure, "scorer": None, "value": number[0], **ends}
    what = {"against": against, "own": None, "difference": number[0], "margin": margin}
    return {**place, "measure": measure, "scorer": None, **what, **ends}
