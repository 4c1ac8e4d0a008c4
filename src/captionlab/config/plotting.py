"""Styles of figures: the widths and fonts of venues, and the colours and marks of what figures tell apart."""

import os
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt, StringConstraints, ValidationError

from captionlab.config.model import Model, Text
from captionlab.storage.files import read_yaml

VenueName = Literal["acl", "neurips", "cvpr", "beamer"]
Width = Literal["page", "column"]
Colour = Annotated[str, StringConstraints(pattern="^#[0-9A-Fa-f]{6}$")]
Palette = Annotated[list[Colour], Field(min_length=1)]


class Venue(Model):
    """The widths and fonts of figures at a venue."""

    widths: dict[Width, PositiveFloat] = Field(description="inches of a page of text and of a column")
    fonts: Annotated[list[Text], Field(min_length=1)] = Field(
        description="names of fonts; each is for characters that the fonts before it lack"
    )
    font_size: PositiveFloat = Field(description="points, of labels")
    small_size: PositiveFloat = Field(description="points, of ticks, legends and captions")


class Marks(Model):
    """The colours of series, and what tells series apart without colour."""

    dots_per_inch: PositiveInt = Field(description="dots on an inch of a PNG")
    captioners: Palette = Field(description="a colour for each captioner, in the order of the paper's table")
    kinds: Palette = Field(description="colours of what is no captioner")
    markers: Annotated[list[Text], Field(min_length=1)] = Field(description="markers of matplotlib")
    dashes: Annotated[list[list[PositiveFloat]], Field(min_length=1)] = Field(description="points on and off, in turn")
    hatches: Annotated[list[str], Field(min_length=1)] = Field(description="hatches of matplotlib")


class Plotting(Marks):
    """The whole file of styles."""

    venues: dict[VenueName, Venue]


class Style(Venue, Marks):
    """The style of figures at a venue."""


def read_style(path: str | os.PathLike[str], venue: str) -> Style:
    """Return the style of a venue from a file of styles.

    Raises ValueError with the file and the key for a mistake in the file, or if the file lacks the venue.
    """
    try:
        plotting = Plotting.model_validate(read_yaml(path))
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        raise ValueError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    venues = {str(name): block for name, block in plotting.venues.items()}
    if venue not in venues:
        raise ValueError(f"{path}: venues lacks {venue!r}; add it, or choose one of {', '.join(venues)} as venue")
    shared = {name: getattr(plotting, name) for name in Marks.model_fields}
    return Style.model_construct(**dict(venues[venue]), **shared)
