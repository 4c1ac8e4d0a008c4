"""Sets of foils that are published as one file for each piece, that is for each kind of foil."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.userfiles.reading import read_json


def entries_of_pieces(
    files: Sequence[str], root: Path, pieces: Mapping[str, str], expected: str
) -> Iterator[tuple[str, str, Any]]:
    """Yield the piece, the place for messages, and the entry, of each entry of files that are named after a piece.

    A file has one JSON object, with entries by their ids. `pieces` maps the name of a published file, without its
    ending, to the name of the piece. Raises CorpusError if a file has another name, or is no object.
    """
    for name in files:
        file = root / name
        if file.stem not in pieces:
            raise CorpusError(
                f"{file} is not named after a piece, so the piece is unknown; keep the names of the published files: "
                f"{', '.join(f'{piece}.json' for piece in pieces)}"
            )
        document = read_json(file)
        if not isinstance(document, dict):
            raise CorpusError(f"{file} is no object with entries by their ids; the reader expects {expected}")
        for key, entry in document.items():
            yield pieces[file.stem], f"{file}: {key!r}", entry
