"""Flickr8k-CF (Hodosh et al. 2013): captions that crowd workers judged as describing an image or not."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.judgements.readers.entries import Described, Rated
from captionlab.judgements.readers.flickr8k import judged_lines


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Rated]:
    """Yield a caption for each line of `CrowdFlowerAnnotations.txt`, rated by the share of the crowd that said yes.

    Raises CorpusError if a line has another format.
    """
    for where, image_id, caption, source, (share, yes, no) in judged_lines(
        root / config["annotations"], root / config["captions"]
    ):
        if not (0 <= share <= 1 and yes >= 0 and no >= 0 and yes + no > 0):
            raise CorpusError(
                f"{where}: expected the share of yes, 0 to 1, and the numbers of yes and no, "
                f"found {share:g}, {yes:g} and {no:g}"
            )
        yield Rated(image_id, caption, {"crowd": share}, source)
