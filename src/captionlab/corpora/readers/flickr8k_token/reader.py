"""Flickr8k and Flickr30k in the files of their authors.

`Flickr8k.token.txt` (Hodosh et al. 2013) and Flickr30k's `results_20130124.token` (Young et al. 2014) have a caption in
each line: the name of the image file, `#` and the number of the caption, a tab, and the caption. The lists
`Flickr_8k.trainImages.txt`, `Flickr_8k.devImages.txt` and `Flickr_8k.testImages.txt` have the name of an image file in
each line. Source: readme.txt of `Flickr8k_text.zip`.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.corpora.readers.gathered import Gathered
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import text_lines

logger = logging.getLogger(__name__)

# Name of an image file and number of a caption.
_CAPTION = re.compile(r"(.+)#\d+")


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of a file of captions, or of the lists of splits if the config has `splits`.

    An image is known by its path without ending; lists of Flickr30k have names without ending. Images that no list has,
    as a few of Flickr8k, are left out and counted in the log. Raises CorpusError if a line is malformed or if an image
    is in two lists.
    """
    file, lists = root / config["annotations"], config.get("splits")
    gathered = Gathered[str]()
    for position, (name, caption) in enumerate(captions_by_name(file)):
        gathered.add(position, file_id(name), [caption], name)
    splits = splits_by_name({split: root / path for split, path in lists.items()}) if lists else {}
    left_out = 0
    for image, name, captions in gathered.images():
        split, _ = splits.pop(image, ("", name)) if lists else ("test", name)
        if split:
            yield Entry(image, split, image_place(config, root, name), captions)
        left_out += not split
    for image, (split, name) in splits.items():  # images of a list without captions become rejects
        yield Entry(image, split, image_place(config, root, name), [])
    if left_out:
        logger.warning("%s: left out %d images with their captions, which no list of `splits` has", file, left_out)


def captions_by_name(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of the image and the caption of each line that is not blank."""
    for where, line in text_lines(file):
        if not line.strip():
            continue
        name, tab, caption = line.partition("\t")
        numbered = _CAPTION.fullmatch(name.strip())
        if not tab or not numbered:
            raise CorpusError(f"{where} is {line[:60]!r}; the reader expects name of the image#number, tab, caption")
        yield numbered[1], caption


def splits_by_name(lists: Mapping[str, Path]) -> dict[str, tuple[str, str]]:
    """Return the split and the file name of each image by its id, in the order of the lists."""
    splits: dict[str, tuple[str, str]] = {}
    for split, file in lists.items():
        for where, line in text_lines(file):
            name = line.strip()
            before, _ = splits.setdefault(file_id(name), (split, name)) if name else (split, name)
            if before != split:
                raise CorpusError(f"{where}: {name!r} is also in the list of the split {before!r}; take it out of one")
    return splits
