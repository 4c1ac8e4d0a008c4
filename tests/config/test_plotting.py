"""Styles of figures: every venue, mistakes in the file, and series that differ in grey and for colour-blind readers."""

from itertools import combinations

import numpy as np
import pytest
from support.figure_checks import PLOTTING, STYLE

from captionlab.config.plotting import VenueName, read_style
from captionlab.reporting.tables.figures import looks

# Machado et al. 2009: what is seen of linear red, green and blue without cones for middle wavelengths.
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)


def linear(colour: str) -> np.ndarray:
    """Linear red, green and blue (3,) of a colour."""
    shares = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB (3,) of linear red, green and blue, under D65: distances are what people see."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = to_xyz @ np.clip(rgb, 0, 1) / to_xyz.sum(axis=1)
    root = [value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z)]
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("palette", ["captioners", "kinds"])
def test_every_two_series_differ_in_marker_dashes_and_hatch(palette):
    """Two that have the same grey, or the same colour without cones for green, are still two."""
    number = len(getattr(STYLE, palette))
    for one, other in combinations(looks(STYLE, map(str, range(number)), palette).values(), 2):
        assert one.marker != other.marker
        assert one.dashes != other.dashes
        assert one.hatch != other.hatch


@pytest.mark.parametrize("palette", ["captioners", "kinds"])
def test_colours_differ_without_cones_for_green(palette):
    for one, other in combinations(getattr(STYLE, palette), 2):
        seen = [lab(DEUTERANOPIA @ linear(colour)) for colour in (one, other)]
        assert np.linalg.norm(seen[0] - seen[1]) > 10, (one, other)


def test_the_kinds_and_a_captioner_with_its_parent_differ_in_grey():
    pairs = [*combinations(STYLE.kinds[:2], 2), STYLE.captioners[:2], STYLE.captioners[2:4]]
    for one, other in pairs:
        assert abs(lab(linear(one))[0] - lab(linear(other))[0]) > 10, (one, other)


@pytest.mark.parametrize(
    ("venue", "page", "column"),
    [("acl", 6.30, 3.03), ("neurips", 5.5, 5.5), ("cvpr", 6.875, 3.25), ("beamer", 4.25, 4.25)],
)
def test_a_venue_has_its_widths(venue, page, column):
    assert read_style(PLOTTING, venue).widths == {"page": page, "column": column}


def test_every_venue_that_a_config_can_name_has_a_style():
    for venue in VenueName.__args__:
        assert read_style(PLOTTING, venue).small_size >= 6.5


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("font_size: 9", "font_size: large", "venues.acl.font_size"),
        ('"#56B4E9"', '"sky"', "captioners.0"),
        ("dots_per_inch", "dpi", "dots_per_inch"),
        ("  acl:", "  iclr:", "venues.iclr"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(tmp_path, old, new, place):
    text = PLOTTING.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "mine.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"mine\.yaml: {place}"):
        read_style(tmp_path / "mine.yaml", "neurips")


def test_a_venue_that_the_file_lacks_is_named(tmp_path):
    lines = PLOTTING.read_text(encoding="utf-8").splitlines()
    (tmp_path / "mine.yaml").write_text("\n".join(one for one in lines if "  cvpr:" not in one), encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.yaml: venues lacks 'cvpr'"):
        read_style(tmp_path / "mine.yaml", "cvpr")
