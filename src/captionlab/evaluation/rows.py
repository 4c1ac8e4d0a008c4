"""Rows of ROLE_VALUES and ROLE_DIFFERENCES."""

from typing import Any

# Experiment of numbers of captions of captioners; others are of constructed captions.
GENERATED = "generated"


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
    """Return a row of ROLE_VALUES or, if `against` is set, of ROLE_DIFFERENCES.

    `number` is the value and the lower and upper end of its interval. `margin` is the margin of a nearness or
    non-inferiority.
    """
    place = {"experiment": experiment, "subject": subject, "source": source, "level": level, "corpus": corpus}
    what: dict[str, Any] = {"value": number[0]}
    if against is not None:
        what = {"against": against, "own": own, "difference": number[0], "margin": margin}
    ends = {"ci_low": number[1], "ci_high": number[2], "seeds": seeds, "n": n}
    return {**place, "measure": measure, "scorer": scorer, **what, **ends}
