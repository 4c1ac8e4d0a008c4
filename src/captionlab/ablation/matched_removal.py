"""Removal of objects from images by the regions that were matched with them."""

import os

from captionlab.ablation.schemas import MATCHES
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import PADDING, piece_id
from captionlab.regions.removal import Removal
from captionlab.regions.tagged_images import TaggedImages
from captionlab.storage.tables import read_table


def read_removal(matches: str | os.PathLike[str], images: TaggedImages, tokenizer: Tokenizer, closed: bool) -> Removal:
    """Return the removal of objects from images, by a MATCHES table of the regions that show them."""
    columns = ["image_id", "region_index", "tag_index"]
    rows = read_table(matches, MATCHES, columns).to_pydict()
    pairs = zip(*(rows[name] for name in columns), strict=True)
    return Removal(images, pairs, piece_id(tokenizer, PADDING), closed)
