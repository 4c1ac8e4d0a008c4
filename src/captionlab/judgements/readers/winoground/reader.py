"""Winoground (Thrush et al. 2022): two images and two captions with the same words in another order."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.entries import take, take_id
from captionlab.judgements.readers.entries import Described, Preferred
from captionlab.userfiles.reading import json_line, text_lines

EXPECTED = '{"id", "image_0", "image_1", "caption_0", "caption_1", "collapsed_tag"} on each line'


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Preferred]:
    """Yield two tied pairs for each example: of each image its caption, and the caption of the other image.

    The category is `collapsed_tag`, which says what is swapped. Raises CorpusError if a line lacks a field.
    """
    for where, line in text_lines(root / config["annotations"]):
        if not line.strip():
            continue
        example = json_line(line, where)
        tie = take_id(example, "id", where, EXPECTED)
        tag = take(example, "collapsed_tag", str, where, EXPECTED)
        images, captions = (
            [take(example, f"{name}_{n}", str, where, EXPECTED) for n in (0, 1)] for name in ("image", "caption")
        )
        yield Preferred(images[0], (captions[0], captions[1]), (1, 0), tag, tie)
        yield Preferred(images[1], (captions[1], captions[0]), (1, 0), tag, tie)
