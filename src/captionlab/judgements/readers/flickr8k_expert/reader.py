"""Flickr8k-Expert (Hodosh et al. 2013): captions that three experts rated from 1 to 4."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.judgements.readers.entries import Described, Rated
from captionlab.judgements.readers.flickr8k import judged_lines

SCALE = (1, 2, 3, 4)


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Rated]:
    """Yield a caption for each line of `ExpertAnnotations.txt`, with the ratings of expert-1 to expert-3.

    Raises CorpusError if a line has another format, or a rating other than 1, 2, 3 or 4.
    """
    lines = judged_lines(root / config["annotations"], root / config["captions"])
    for where, image_id, caption, source, numbers in lines:
        if wrong := [number for number in numbers if number not in SCALE]:
            raise CorpusError(f"{where}: {wrong[0]:g} is no judgement; experts give 1, 2, 3 or 4")
        yield Rated(image_id, caption, {f"expert-{n}": number for n, number in enumerate(numbers, 1)}, source)
