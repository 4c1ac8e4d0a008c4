"""nocaps, in COCO's format."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.coco.reader import coco_entries
from captionlab.corpora.readers.entries import Entry


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of the validation part of nocaps, or of one domain: in-domain, near-domain or out-domain."""
    yield from coco_entries(config, root, config["annotations"], "val", {})
