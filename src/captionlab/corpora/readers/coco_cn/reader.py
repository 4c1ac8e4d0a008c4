"""COCO-CN (Li et al. 2019): captions in Chinese of images of COCO 2014.

`imageid.human-written-caption.txt` has a caption in each line: the name of the image file without ending, # and the
number of the caption, a tab, and the caption. `coco-cn_train.txt`, `coco-cn_val.txt` and `coco-cn_test.txt` have the
name of an image in each line. Sources: README of li-xirong/coco-cn, and public scripts that read the archive
`coco-cn-version1805v1.1.tar.gz`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.corpora.readers.flickr8k_token.reader import captions_by_name, splits_by_name
from captionlab.userfiles.ids import coco_number

FOLDERS = ("train2014", "val2014")


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of the lists of splits, in their order, each with its captions. An image has its COCO number.

    Captions of other images are left out. Raises CorpusError if a line is malformed, or if an image is in two lists.
    """
    captions: dict[str, list[str]] = {}
    for name, caption in captions_by_name(root / config["annotations"]):
        captions.setdefault(name, []).append(caption)
    for image, (split, name) in splits_by_name(
        {split: root / path for split, path in config["splits"].items()}
    ).items():
        number, folder = coco_number(name), next((one for one in FOLDERS if one in name), None)
        if number is None or folder is None:
            raise CorpusError(
                f"{root / config['splits'][split]} has the image {name[:60]!r}; the reader expects names such as "
                "COCO_val2014_000000000042"
            )
        place = image_place(config, root, Path(folder) / f"{image}.jpg")
        yield Entry(number, split, place, captions.get(image, []))
