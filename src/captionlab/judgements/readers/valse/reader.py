"""VALSE (Parcalabescu et al. 2022): captions and foils for six linguistic phenomena, and for noun phrases."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.entries import take
from captionlab.judgements.readers.entries import Described, Preferred
from captionlab.judgements.readers.pieces import entries_of_pieces

logger = logging.getLogger(__name__)

EXPECTED = '{"id": {"image_file", "caption", "foil", "mturk": {"caption", "foil"}}}'
# Published file, without its ending -> the paper's name of the piece. Table 2 of the paper has one column for each.
PIECES = {
    "existence": "existence",
    "plurals": "plurality",
    "counting-hard": "counting, balanced",
    "counting-small-quant": "counting, small numbers",
    "counting-adversarial": "counting, adversarial",
    "relations": "relations",
    "action-replacement": "actions, replacement",
    "actant-swap": "actions, actant swap",
    "coreference-standard": "coreference, standard",
    "coreference-hard": "coreference, clean",
    "foil-it": "noun phrases",
}
# A foil is valid if so many of three annotators chose the caption, and not the foil (section 4.4 and the README).
VALID = 2


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Preferred]:
    """Yield each valid pair of a caption and its foil, with the votes of three annotators.

    The other pairs are left out and counted in the log, by piece. Raises CorpusError if a file is not named after a
    piece, or if an entry lacks a field.
    """
    found, valid = Counter[str](), Counter[str]()
    for piece, where, entry in entries_of_pieces(config["annotations"], root, PIECES, EXPECTED):
        votes = take(entry, "mturk", dict, where, EXPECTED)
        of_caption, of_foil = (take(votes, name, int, f"{where}: 'mturk'", EXPECTED) for name in ("caption", "foil"))
        image = take(entry, "image_file", str, where, EXPECTED)
        captions = tuple(take(entry, name, str, where, EXPECTED) for name in ("caption", "foil"))
        found[piece] += 1
        if of_caption >= VALID:
            valid[piece] += 1
            yield Preferred(image, captions, (of_caption, of_foil), piece)
    for piece, number in found.items():
        logger.info("%s: %d of %d foils are valid, the others are left out", piece, valid[piece], number)
