"""SugarCrepe (Hsieh et al. 2023): captions of COCO, and hard negatives by a language model, in seven kinds."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.entries import take
from captionlab.judgements.readers.entries import Described, Preferred
from captionlab.judgements.readers.pieces import entries_of_pieces

EXPECTED = '{"0": {"filename", "caption", "negative_caption"}}'
# Published file, without its ending -> the kind of its hard negatives.
PIECES = {
    name: name.replace("_", " ")
    for name in ("replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att", "add_obj", "add_att")
}


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Preferred]:
    """Yield each caption and its hard negative. The caption gets the only vote.

    Raises CorpusError if a file is not named after a kind, or if an entry lacks a field.
    """
    for piece, where, entry in entries_of_pieces(config["annotations"], root, PIECES, EXPECTED):
        names = ("filename", "caption", "negative_caption")
        image, caption, negative = (take(entry, name, str, where, EXPECTED) for name in names)
        yield Preferred(image, (caption, negative), (1, 0), piece)
