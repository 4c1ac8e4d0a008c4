"""Does our number agree with the published one?"""

from collections.abc import Iterable
from typing import Literal, Protocol

from captionlab.reporting.published import PublishedValue


class Measured(Protocol):
    """A value with the ends of its 95 % interval."""

    @property
    def value(self) -> float:
        """The value."""

    @property
    def ci_low(self) -> float:
        """The lower end."""

    @property
    def ci_high(self) -> float:
        """The upper end."""


Verdict = Literal["agrees", "close", "higher", "lower", "not comparable", "no published value", "not in this run"]

# Relative difference up to which two evaluations of the same thing are called close. The same published ClipCap
# weights, evaluated by their authors and again for the DiscriTune paper, differ by up to 3.3 % (nocaps near-domain
# SPICE 11.26 and 10.89, CIDEr 67.69 and 69.66; COCO BLEU-4 32.15 and 32.60). The gains over
# ClipCap in the paper's table 1 are 11 % and more of the parent's P@1, so what is close is not yet the other model.
CLOSE = 0.05

MARKERS: dict[Verdict, str] = {
    "agrees": "✓",
    "close": "≈",
    "higher": "▲",
    "lower": "▼",
    "not comparable": "○",
}
MEANINGS: dict[Verdict, str] = {
    "agrees": "the published value lies in our 95 % interval or is ours up to rounding",
    "close": f"ours is within {CLOSE * 100:.0f} % of the published value",
    "higher": f"ours is more than {CLOSE * 100:.0f} % above the published value",
    "lower": f"ours is more than {CLOSE * 100:.0f} % below the published value",
    "not comparable": "the published value is context only",
}
CONTEXT = (
    "The numbers of this run are not comparable with the published column: its data and models are not the paper's. "
    "The column is context."
)


def judge(ours: Measured | None, published: PublishedValue | None, comparable: bool) -> Verdict:
    """The verdict on our value with its 95 % interval, against the published value in the same unit.

    `agrees` comes first: inside the interval (its ends included) or equal up to the published rounding. Then `close`,
    by relative difference. Else the side on which ours lies. `comparable` is what the config says of the whole run:
    other data or other models make a comparison meaningless however near the numbers are.
    """
    if ours is None:
        return "not in this run"
    if published is None:
        return "no published value"
    if not comparable:
        return "not comparable"
    theirs, distance = published.value, abs(ours.value - published.value)
    if ours.ci_low <= theirs <= ours.ci_high:
        return "agrees"
    slack = 1e-9 * max(1.0, abs(theirs))  # 84.85 - 84.8 is 0.04999... or 0.05000... in binary
    if distance <= published.half_unit + slack:
        return "agrees"
    if distance <= CLOSE * abs(theirs) + slack:
        return "close"
    return "higher" if ours.value > theirs else "lower"


def legend(verdicts: Iterable[object]) -> str:
    """One sentence that explains the markers that were used."""
    used = set(verdicts)
    meanings = [f"{marker} {name}: {MEANINGS[name]}" for name, marker in MARKERS.items() if name in used]
    return "; ".join(meanings) + "." if meanings else ""
