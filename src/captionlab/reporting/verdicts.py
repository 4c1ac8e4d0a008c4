"""Does our number agree with the published one?"""

from collections.abc import Iterable
from statistics import NormalDist
from typing import Literal

from captionlab.reporting.published import PublishedValue
from captionlab.reporting.render import MISSING, Cell
from captionlab.reporting.runs import Measured

Verdict = Literal[
    "agrees", "differs", "cannot tell", "not comparable", "not judged", "no published value", "not in this run"
]

# Relative difference up to which two evaluations of the same thing agree. The same published ClipCap
# weights, evaluated by their authors and again for the DiscriTune paper, differ by up to 3.3 % (nocaps near-domain
# SPICE 11.26 and 10.89, CIDEr 67.69 and 69.66; COCO BLEU-4 32.15 and 32.60). The gains over
# ClipCap in the paper's table 1 are 11 % and more of the parent's P@1, so what agrees is not yet the other model.
CLOSE = 0.05

# In how many runs a difference that is there is to be shown.
POWERFUL = 0.8
# Half-widths of a 95 % interval that a true difference must have for the interval to leave 0 out in so many runs.
POWER = (NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(POWERFUL)) / NormalDist().inv_cdf(0.975)

# The marker of a verdict, and what it means.
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
    """The verdict on our value with its 95 % interval, against the published value in the same unit.

    That the published value lies in our interval says little where the interval is wide. So `agrees` asks for the whole
    interval (its ends included) within CLOSE of the published value, or within its rounding (an equivalence test);
    `differs` for any other that leaves out all that is printed as the published value; else the run cannot tell. The
    published value is taken as it is, without the chance of its own images, which no paper prints. `comparable` is what
    the config says of the whole run: other data or other models make a comparison meaningless however near the numbers.
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
    """The verdict on a p-value where the paper prints a bound, such as p < .001: a larger one shows nothing."""
    if published is None or not comparable:
        return "not comparable" if published else "no published value"
    return "agrees" if ours < published.value else "cannot tell"


def smallest_difference(ours: Measured | None) -> float | None:
    """The smallest true difference that a 95 % interval as wide as ours leaves 0 out for in four of five runs.

    That is 1.43 times half of its width: a difference of half the width is shown in every second run only (Cohen 1988,
    section 2.4). None without a value, and where it has no interval, which is then a point.
    """
    if ours is None or ours.ci_low == ours.ci_high:
        return None
    return POWER * (ours.ci_high - ours.ci_low) / 2


def beside(published: PublishedValue | None, verdict: Verdict, smallest: float | None) -> Cell:
    """The cell of a published value beside ours: its marker and, where the run cannot tell, our smallest difference."""
    if published is None:
        return Cell(MISSING)
    text = f"{published.text} {MARKERS[verdict][0]}" if verdict in MARKERS else published.text
    told = verdict == "cannot tell" and smallest is not None
    return Cell(text, f"±{smallest:.{published.decimals}f}" if told else "", value=published.value)


def legend(verdicts: Iterable[object]) -> str:
    """One sentence that explains the markers that were used."""
    used = set(verdicts)
    meanings = [f"{marker} {name}: {meaning}" for name, (marker, meaning) in MARKERS.items() if name in used]
    return "; ".join(meanings) + "." if meanings else ""
