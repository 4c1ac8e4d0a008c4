"""Rows of ROLE_VALUES and ROLE_DIFFERENCES."""

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
    scorer: str | None = None,
    own: bool | None = None,
) -> dict[str, Any]:
    """A row of values or, with `against`, of differences; `number` is the value with the ends of its interval.

    A nearness or a non-inferiority has the `margin` that it is of.
    """
    place = {"experiment": experiment, "subject": subject, "source": source, "level": level, "corpus": corpus}
    what: dict[str, Any] = {"value": number[0]}
    if against is not None:
        what = {"against": against, "own": own, "difference": number[0], "margin": margin}
    ends = {"ci_low": number[1], "ci_high": number[2], "seeds": seeds, "n": n}
    return {**place, "measure": measure, "scorer": scorer, **what, **ends}
