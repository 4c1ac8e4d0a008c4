"""Pascal-50S (Vedantam et al. 2015): images of UIUC Pascal, each with 50 sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.userfiles.ids import file_id

# Each pair was shown 48 times, each time with another sentence about its image.
SHOWN = 48
# Author codes in `new_data`: one of five systems, a person, or a person who described another image.
SYSTEMS, PERSON, STRANGER = range(1, 6), 6, 7


@dataclass(frozen=True)
class PascalPair:
    """Two captions of an image, their references, and `votes`, the number of times that each caption was chosen."""

    file_name: str
    captions: tuple[str, str]
    category: str
    references: Sequence[str]
    votes: tuple[int, int]

    @property
    def image_id(self) -> str:
        """Return the file name without its ending."""
        return file_id(self.file_name)


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of all pairs, in the split test, with the sentences that the pairs were compared with.

    Repeated sentences of an image are kept once. An image is known by its file name without extension.
    """
    sentences: dict[str, dict[str, None]] = {}
    files: dict[str, str] = {}
    for pair in pascal_pairs(root / config["annotations"], root / config["pairs"]):
        sentences.setdefault(pair.image_id, {}).update(dict.fromkeys(pair.references))
        files[pair.image_id] = pair.file_name
    for image_id, captions in sentences.items():
        yield Entry(image_id, "test", image_place(config, root, files[image_id]), [*captions])


def pascal_pairs(consensus: Path, pairs: Path) -> Iterator[PascalPair]:
    """Yield the pairs in order, from `triplets` in `consensus` and from `new_input` and `new_data` in `pairs`.

    A row of `new_input` has a file name and two captions. The same row of `new_data` has the codes of their authors.
    Rows 48 n to 48 n + 47 of `triplets` are about pair n. Each has a sentence, the two captions in either order, and 1
    or -1 if the first or second caption was chosen. Raises CorpusError, which names the file and the row, if the format
    differs.
    """
    triplets, rows = _records(consensus, "triplets", 4), _records(pairs, "new_input", 3)
    writers = np.reshape(_variable(pairs, "new_data"), (-1, 2)).tolist()
    if len(writers) != len(rows):
        raise CorpusError(f"{pairs}: new_data has {len(writers)} rows, and new_input {len(rows)}; get the file again")
    if len(triplets) != SHOWN * len(rows):
        raise CorpusError(
            f"{consensus}: triplets has {len(triplets)} rows; {len(rows)} pairs in {pairs} need {SHOWN} each"
        )
    for number, ((file_name, first, second), wrote) in enumerate(zip(rows, writers, strict=True)):
        captions = (str(first).strip(), str(second).strip())
        votes, references = [0, 0], []
        start = SHOWN * number
        for row, (reference, *shown, chosen) in enumerate(triplets[start : start + SHOWN], start + 1):
            where = f"{consensus}: row {row} of triplets"
            shown = [str(caption).strip() for caption in shown]
            if sorted(shown) != sorted(captions):
                raise CorpusError(f"{where} shows {shown[0]!r} and {shown[1]!r}, not row {number + 1} of {pairs}")
            if chosen not in (1, -1):
                raise CorpusError(f"{where} chose {chosen}; it must be 1, the first caption, or -1, the second")
            votes[captions.index(shown[chosen == -1])] += 1
            references.append(str(reference).strip())
        category = _category(wrote, f"{pairs}: row {number + 1} of new_data")
        yield PascalPair(str(file_name).strip(), captions, category, references, (votes[0], votes[1]))


def _category(wrote: Sequence[int], where: str) -> str:
    """Return the category of a pair.

    HC: both captions by people about the image. HI: one of two human captions is about another image. HM: one caption
    by a person, one by a system. MM: both by systems. Raises CorpusError if the codes are of no category.
    """
    systems = sum(code in SYSTEMS for code in wrote)
    rest = sorted(code for code in wrote if code not in SYSTEMS)
    known = {(0, PERSON, PERSON): "HC", (0, PERSON, STRANGER): "HI", (1, PERSON): "HM", (2,): "MM"}
    if (systems, *rest) not in known:
        raise CorpusError(
            f"{where} is {[*wrote]}; captions are by systems (1 to 5), a person (6) or one who saw another image (7)"
        )
    return known[systems, *rest]


def _records(file: Path, name: str, fields: int) -> list[list[Any]]:
    """Return the rows of a structure array, each with its field values in order.

    Raises CorpusError if the variable is no structure array with `fields` fields.
    """
    found = _variable(file, name)
    rows = [found] if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) and len(row) == fields for row in rows):
        raise CorpusError(f"{file}: {name} must be a structure array with {fields} fields")
    return [[*row.values()] for row in rows]


def _variable(file: Path, name: str) -> Any:
    """Return a variable of a MAT-file.

    Raises CorpusError if the file cannot be read, or, with a list of the variables, if the variable is missing.
    """
    try:
        variables = loadmat(file, simplify_cells=True)
    except (ValueError, NotImplementedError, TypeError, OSError) as error:
        raise CorpusError(f"{file} is no MAT-file of a version up to 7 ({error}); get it again") from error
    if name not in variables:
        there = ", ".join(key for key in variables if not key.startswith("__")) or "nothing"
        raise CorpusError(f"{file} has no variable {name!r}; it has {there}")
    return variables[name]
