"""TextCaps (Sidorov et al. 2020).

`TextCaps_0.1_train.json` and `TextCaps_0.1_val.json` have a list `data` with a record for each caption: `image_id`,
`caption_str`, `image_width`, `image_height`, and `reference_strs` with all captions of the image, which the other
records of the image repeat. Records of `TextCaps_0.1_test.json` have no captions. The image is the file
`{image_id}.jpg`. Sources: textvqa.org/textcaps/dataset; `pix2struct/preprocessing/convert_textcaps.py` of
google-research/pix2struct, which reads these files.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.entries import Entry, image_place, records, take, take_id, take_texts
from captionlab.userfiles.reading import read_json

logger = logging.getLogger(__name__)

# Fields of a record with captions, and long fields that are not read.
_CAPTIONS = {"reference_strs", "caption_str"}
_UNREAD = ("caption_tokens", "reference_tokens", "image_classes")


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of TextCaps, one file per split, each with the captions of all its records.

    The list `reference_strs` of the first record of an image has all its captions; without this list the captions are
    the texts `caption_str` of its records. A file without any captions is left out, and the log has the number of its
    records. Raises CorpusError if a record is malformed.
    """
    expected = '{"data": [{"image_id", "reference_strs": [...]}]}, or "caption_str" in place of "reference_strs"'
    for split, name in config["annotations"].items():
        file = root / name
        data = [*records(read_json(file, without=_UNREAD), "data", file, expected)]
        if data and not any(isinstance(record, dict) and _CAPTIONS & record.keys() for _, record in data):
            message = "%s: left out all %d records, as none has a caption; `reader: folder` reads undescribed images"
            logger.warning(message, file, len(data))
            continue
        captions: dict[str, list[str]] = {}
        sizes: dict[str, tuple[int, int]] = {}
        for where, record in data:
            image_id = take_id(record, "image_id", where, expected)
            if "reference_strs" in record:
                captions.setdefault(image_id, take_texts(record, "reference_strs", where, expected))
            else:
                captions.setdefault(image_id, []).append(take(record, "caption_str", str, where, expected))
            sizes[image_id] = (record.get("image_width") or 0, record.get("image_height") or 0)
        for image_id, texts in captions.items():
            place = image_place(config, root, f"{image_id}.jpg", split)
            yield Entry(image_id, split, place, texts, size=sizes[image_id])
