"""Localized Narratives (Pont-Tuset et al. 2020), of images of COCO, Flickr30k, ADE20k or Open Images.

JSON lines, such as `coco_val_captions.jsonl` or the larger `coco_val_localized_narratives.jsonl`: a description of an
image by an annotator, with `dataset_id` (mscoco_val2017), `image_id` ("137576"), `annotator_id`, `caption`, and in the
larger files `timed_caption`, `traces` and `voice_recording`, which are not read. Several annotators described some of
the images. Source: "File formats" on google.github.io/localized-narratives.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place, take, take_id
from captionlab.corpora.readers.gathered import Gathered
from captionlab.userfiles.reading import json_line, text_lines

# Images of COCO have the names of the release of 2017: the number in twelve digits.
_COCO = "mscoco"


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of Localized Narratives, one file per split, each with the captions of all its annotators.

    The image is the file `{image_id}.jpg`, with twelve digits in COCO. Raises CorpusError if a line is malformed.
    """
    expected = '{"dataset_id", "image_id", "annotator_id", "caption"} in each line'
    for split, file in config["annotations"].items():
        gathered = Gathered[str]()
        for position, (where, line) in enumerate(text_lines(root / file)):
            record = json_line(line, where)
            image_id = take_id(record, "image_id", where, expected)
            dataset = take(record, "dataset_id", str, where, expected)
            if dataset.startswith(_COCO) and not image_id.isdecimal():
                raise CorpusError(f"{where}: 'image_id' is {image_id!r}, and images of {dataset} have numbers")
            gathered.add(position, image_id, [take(record, "caption", str, where, expected)], dataset)
        for image_id, dataset, captions in gathered.images():
            name = f"{int(image_id):012d}.jpg" if dataset.startswith(_COCO) else f"{image_id}.jpg"
            yield Entry(image_id, split, image_place(config, root, name, split), captions)
