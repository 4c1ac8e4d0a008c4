"""Crossmodal-3600 (Thapliyal et al. 2022), XM3600 for short.

`captions.jsonl` has an image in each line: `image/key`, which is the name of its file without `.jpg`, `image/locale`,
and by the code of each language an object with the lists `caption`, `caption/tokenized` and
`caption/tokenized/lowercase`. The captions as they were written are read. Sources: the archive that
google.github.io/crossmodal-3600 links, and public scripts that read it (the loader of SEACrowd, for one).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.config.languages import language_of
from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place, take_id, take_texts
from captionlab.userfiles.reading import json_line, text_lines

EXPECTED = '{"image/key", "de": {"caption": [...]}} in each line, with an object for each language'


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of XM3600 with their captions in the language of the corpus; all are of the split test.

    Raises CorpusError if a line is malformed or has no captions in this language.
    """
    language = language_of(config)
    for where, line in text_lines(root / config["annotations"]):
        record = json_line(line, where)
        image = take_id(record, "image/key", where, EXPECTED)
        if language not in record:
            there = ", ".join(sorted(key for key, value in record.items() if isinstance(value, dict)))
            raise CorpusError(f"{where} has no captions in {language!r}, the `language` of the corpus; it has {there}")
        captions = take_texts(record[language], "caption", where, EXPECTED)
        yield Entry(image, "test", image_place(config, root, f"{image}.jpg"), captions)
