"""VizWiz-Captions (Gurari et al. 2020), in COCO's format with marks for unusable captions.

`train.json` and `val.json` have `images` with `id`, `file_name` and `text_detected`, and `annotations` with `image_id`,
`caption`, `is_rejected` (spam) and `is_precanned` (the fixed sentence for images that are too bad to describe).
Sources: vizwiz.org, "Image Captioning"; `vizwiz_api/vizwiz.py` of Yinan-Zhao/vizwiz-caption, which ignores both kinds
by default.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.coco.reader import coco_entries
from captionlab.corpora.readers.entries import Entry


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of VizWiz-Captions, one file per split, without captions that are marked as unusable.

    The key `keep` of the config keeps rejected or precanned captions. An image that has no other captions is left out.
    The log has the counts.
    """
    for split, name in config["annotations"].items():
        yield from coco_entries(config, root, name, split, {})
