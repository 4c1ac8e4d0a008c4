"""What all figures share: colours, and how they are saved."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from captionlab.files import replacing
from captionlab.provenance import current
from captionlab.reporting.runs import Measured

Style = Mapping[str, Any]


def looking(style: Style) -> AbstractContextManager[None]:
    """The look of the figures that are drawn in the block: quiet titles and legends without frames."""
    look: dict[Any, Any] = {
        "font.size": style["font_size"], "axes.titlesize": "medium", "figure.labelsize": "medium",
        "legend.frameon": False, "figure.constrained_layout.use": True,
    }  # fmt: skip
    return plt.rc_context(look)


def colour_of(style: Style, index: int) -> str:
    """The colour of the captioner, or whatever is told apart, with this number."""
    return str(style["colours"][index % len(style["colours"])])


def errors(values: Sequence[Measured]) -> list[list[float]]:
    """How far intervals reach below and above their values, as matplotlib draws them."""
    return [[max(0.0, v.value - v.ci_low) for v in values], [max(0.0, v.ci_high - v.value) for v in values]]


def save(figure: Figure, path: str, style: Style) -> None:
    """Write beside and rename; the file says which job drew it, and has no time stamp."""
    notes = {"Software": None, "Description": json.dumps(current(), sort_keys=True)}
    with replacing(path) as partial:
        figure.savefig(partial, dpi=style["dots_per_inch"], format="png", metadata=notes)
    plt.close(figure)
