"""DOCCI, Descriptions of Connected and Contrasting Images (Onoe et al. 2024).

`docci_descriptions.jsonlines` has an image in each line: `example_id`, `split` (train, test, qual_dev
or qual_test), `image_file` and `description`. Source: the fields are described on google.github.io/docci.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place, take
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import json_line, text_lines

SPLITS = ("train", "test", "qual_dev", "qual_test")


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of DOCCI, each with its description. An image is known by its path without ending.

    Raises CorpusError if a line is malformed or of an unknown split.
    """
    expected = '{"split", "image_file", "description"} in each line'
    for where, line in text_lines(root / config["annotations"]):
        record = json_line(line, where)
        name = take(record, "image_file", str, where, expected)
        split = take(record, "split", str, where, expected)
        if split not in SPLITS:
            raise CorpusError(f"{where}: 'split' is {split!r}; splits of DOCCI are {', '.join(SPLITS)}")
        description = take(record, "description", str, where, expected)
        yield Entry(file_id(name), split, image_place(config, root, name), [description])
