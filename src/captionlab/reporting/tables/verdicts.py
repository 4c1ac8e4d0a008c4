"""Verdicts on whether our numbers agree with published ones."""

from collections.abc import Iterable
from statistics import NormalDist
from typing import Literal

from captionlab.reporting.runs.published import PublishedValue
from captionlab.reporting.runs.values import Measured
from captionlab.reporting.tables.render import MISSING, Cell

Verdict = Literal[
    "agrees", "differs", "cannot tell", "not comparable", "not judged", "no published value", "not in this run"
]

# Relative difference up to which two evaluations of the same model agree. The same published ClipCap weights, evaluated
# by their authors and again for the DiscriTune paper, differ by up to 3.3 % (nocaps near-domain SPICE 11.26 and 10.89,
# CIDEr 67.69 and 69.66; COCO BLEU-4 32.15 and 32.60). The gains over ClipCap in the paper's Table 1 are 11 % and more
# of the parent's P@1, so a value that agrees with one model does not yet agree with the other.
CLOSE = 0.05

# Share of runs in which a true difference is to be shown.
POWERFUL = 0.8
# Size of a true difference, in half-widths of a 95 % interval, for which the interval excludes 0 in that share of runs.
POWER = (NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(POWERFUL)) / NormalDist().inv_cdf(0.975)

# Verdict -> its marker and meaning.
MARKERS: dict[Verdict, tuple[str, str]] = {
    "agrees": ("✓", f"our whole 95 % interval is within {CLOSE * 100:.0f} % of the published value"),
    "differs": (
        "≠",
        f"our 95 % interval leaves out the published value, and is not wholly within {CLOSE * 100:.0f} % of it",
    ),
    "cannot tell": (
        "?",
        "our 95 % interval holds the published value, and others that are further from it; below stands the smallest "
        "difference from it that so many images would have shown in four of five runs",
    ),
    "not comparable": ("○", "the published value is context only"),
}
CONTEXT = (
    "The numbers of this run are not comparable with the published column: its data and models are not the paper's. "
    "The column is context."
)


def judge(ours: Measured | None, published: PublishedValue | None, comparable: bool) -> Verdict:
    """Return the verdict on our value with its 95 % interval, against the published value in the same unit.

    A published value inside our interval says little if the interval is wide. Therefore `agrees` requires the whole
    interval, ends included, to be within CLOSE of the published value or within its rounding (an equivalence test).
    `differs` is returned for any other interval that excludes everything that would be printed as the published value.
    Otherwise the run cannot tell. The published value is taken as exact, because no paper prints its uncertainty over
    images. `comparable` is the config's setting for the whole run: with other data or other models, a comparison means
    nothing, however near the numbers are.
    """
    if ours is None:
        return "not in this run"
    if published is None:
        return "no published value"
    if not comparable:
        return "not comparable"
    theirs = published.value
    slack = 1e-9 * max(1.0, abs(theirs))  # 84.85 - 84.8 is 0.04999... or 0.05000... in binary
    lowest, highest = published.ends
    margin = CLOSE * abs(theirs)
    if min(theirs - margin, lowest) - slack <= ours.ci_low and ours.ci_high <= max(theirs + margin, highest) + slack:
        return "agrees"
    return "differs" if ours.ci_low > highest + slack or ours.ci_high < lowest - slack else "cannot tell"


def judge_below(ours: float, published: PublishedValue | None, comparable: bool) -> Verdict:
    """Return the verdict on a p-value if the paper prints a bound such as p < .001. A larger value shows nothing."""
    if published is None or not comparable:
        return "not comparable" if published else "no published value"
    return "agrees" if ours < published.value else "cannot tell"


def smallest_difference(ours: Measured | None) -> float | None:
    """Return the smallest true difference that an interval as wide as ours would show in four of five runs.

    A difference is shown if the 95 % interval excludes 0. The smallest difference is 1.43 times half the width of the
    interval: a difference of half the width is shown only in every second run (Cohen 1988, section 2.4). Returns None
    if there is no value, or if it has no interval (a point).
    """
    if ours is None or ours.ci_low == ours.ci_high:
        return None
    return POWER * (ours.ci_high - ours.ci_low) / 2


def beside(published: PublishedValue | None, verdict: Verdict, smallest: float | None) -> Cell:
    """Return the cell of a published value: its marker and, if the run cannot tell, our smallest difference."""
    if published is None:
        return Cell(MISSING)
    text = f"{published.text} {MARKERS[verdict][0]}" if verdict in MARKERS else published.text
    told = verdict == "cannot tell" and smallest is not None
    return Cell(text, f"±{smallest:.{published.decimals}f}" if told else "", value=published.value)


def legend(verdicts: Iterable[object]) -> str:
    """Return a sentence that explains the markers that were used, empty if there are none."""
    used = set(verdicts)
    meanings = [f"{marker} {name}: {meaning}" for name, (marker, meaning) in MARKERS.items() if name in used]
    return "; ".join(meanings) + "." if meanings else ""
