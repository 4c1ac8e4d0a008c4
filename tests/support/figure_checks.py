"""What the tests of figures share: their style, figures drawn for both widths, and whether they can be read."""

from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from captionlab.config.plotting import read_style
from captionlab.reporting.paper import FIGURE_FILES
from captionlab.reporting.tables.figures import Draw, lay_out, looking

PLOTTING = Path(__file__).parents[2] / "config" / "plotting.yaml"
STYLE = read_style(PLOTTING, "acl")


def drawn(draw: Draw, width: str = "page") -> Figure:
    """The figure as it is laid out for a page or a column."""
    with looking(STYLE):
        figure = draw(STYLE.widths[width])
        lay_out(figure)
    plt.close(figure)
    return figure


def assert_readable(figure: Figure, width: str) -> None:
    """It is as wide as it should be, nothing is cut off, no letter is tiny, and texts in a panel are apart."""
    wide, high = figure.get_size_inches()
    assert wide == STYLE.widths[width]
    assert high < 9.5  # inches of a page
    written = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in written) >= 6
    with looking(STYLE):  # letters as wide as in print
        left, bottom, right, top = figure.get_tightbbox().extents
        places = [
            [(text.get_text(), text.get_window_extent()) for text in axis.texts if text.get_text()]
            for axis in figure.axes
        ]
    assert min(left, bottom) > -0.02, "something is cut off on the left or below"
    assert right < wide + 0.02, "something is cut off on the right"
    assert top < high + 0.02, "something is cut off above"
    for of_axis in places:
        for (one, first), (other, second) in combinations(of_axis, 2):
            assert not Bbox.intersection(first.shrunk(0.9, 0.9), second.shrunk(0.9, 0.9)), f"{one!r} lies on {other!r}"


def figure_files(folder: Path, names: Any) -> dict[str, list[Path]]:
    """The files of figures by the names of these."""
    return {name: [folder / f"{name}{ending}" for ending in FIGURE_FILES] for name in names}
