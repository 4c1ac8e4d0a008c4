"""Multi30k (Elliott et al. 2016, 2017; Barrault et al. 2018): images of Flickr30k with captions in several languages.

A list has the name of an image file in each line; the list of the images of COCO has # and the number of a caption
behind each name. A file of captions has the caption of the same image in each line. Task 1 has a file for each language
and split, `val.de`, with translations of English captions; task 2 has five, `val.1.de` to `val.5.de`, with captions
that were written from the images. Source: the folders data/task1 and data/task2 of github.com/multi30k/dataset.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import text_lines


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of each split, in the order of its list. An image is known by the name of its file.

    Raises CorpusError if a file of captions has another number of lines than the list of images.
    """
    for split, files in config["annotations"].items():
        listed = root / config["lists"][split]
        names, captions = _lines(listed), [_lines(root / file) for file in files]
        for file, lines in zip(files, captions, strict=True):
            if len(lines) != len(names):
                raise CorpusError(
                    f"{root / file} has {len(lines)} lines and {listed} has {len(names)} images; each line must be the "
                    "caption of the image in the same line"
                )
        for name, *texts in zip(names, *captions, strict=True):
            image = name.partition("#")[0].strip()
            yield Entry(file_id(image), split, image_place(config, root, image, split), texts)


def _lines(file: Path) -> list[str]:
    return [line for _, line in text_lines(file)]
