"""ImageCoDe."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.images import Fault
from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, take
from captionlab.images.locations import ImageLocation
from captionlab.userfiles.reading import read_json

# Number of images in a set. The annotations name an image by its rank in the set.
SET = 10


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of ImageCoDe, which has sets of ten look-alike images; some images have a description.

    Every image of a set is an entry with the id `{set}/{rank}`. The rank is the position of the image when the files
    `img<number>.jpg` are sorted by number. If a set does not have exactly ten such files, all its entries get a fault,
    because the ranks would be wrong. Raises CorpusError if the annotations have another structure.
    """
    folder = root / config["images"]
    expected = '{set: {rank of the image, "0" to "9": description}}'
    for split, name in config["annotations"].items():
        document = read_json(root / name)
        if not isinstance(document, dict):
            raise CorpusError(f"{root / name} holds a {type(document).__name__}; the reader expects {expected}")
        for image_set in document:
            where = f"{root / name}: set {image_set!r}"
            descriptions = take(document, image_set, dict, str(root / name), expected)
            if unknown := sorted(set(descriptions) - {str(rank) for rank in range(SET)}):
                raise CorpusError(f"{where} has no image {unknown[0]!r}; the reader expects {expected}")
            files = [path for path in (folder / image_set).glob("img*.jpg") if re.fullmatch(r"img\d+", path.stem)]
            files.sort(key=lambda path: int(path.stem[3:]))
            fault = None
            if len(files) != SET:
                found = f"{len(files)} images img<number>.jpg in place of {SET} in the folder of the set"
                fault, files = Fault("missing", found), [folder / image_set] * SET
            for rank, path in enumerate(files):
                captions = [take(descriptions, str(rank), str, where, expected)] if str(rank) in descriptions else None
                yield Entry(
                    f"{image_set}/{rank}", split, ImageLocation(str(path)), captions, image_set=image_set, fault=fault
                )
