"""Conversations about images in LLaVA's format (Liu et al. 2023).

A JSON list of records with `id`, `image` (a path) and `conversations`, a list of turns with `from` (human or gpt) and
`value`. The place of the image in the first turn is `<image>`. Records of text only, as in `llava_v1_5_mix665k.json`,
have no `image`. Sources: docs/Data.md and docs/Finetune_Custom_Data.md of haotian-liu/LLaVA.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.conversations import ModelTurns
from captionlab.corpora.readers.entries import Entry, image_place, take
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import read_json

logger = logging.getLogger(__name__)

_EXPECTED = '[{"id", "image", "conversations": [{"from", "value"}]}]'


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of LLaVA's files, one file per split, each with the model's turns of all its conversations.

    Turns of people, `<image>`, and records without an image are left out and counted in the log. An image is known by
    its path without ending. Raises CorpusError if a record is malformed.
    """
    for split, name in config["annotations"].items():
        file = root / name
        document = read_json(file, several="put the records into one list")
        if not isinstance(document, list):
            raise CorpusError(f"{file} holds a {type(document).__name__}; the reader expects {_EXPECTED}")
        turns, texts_only, images = ModelTurns(), 0, dict[str, list[str]]()
        for index, record in enumerate(document):
            where = f"{file}: [{index}]"
            conversation = take(record, "conversations", list, where, _EXPECTED)
            if record.get("image") in (None, ""):
                texts_only += 1
                continue
            image = take(record, "image", str, where, _EXPECTED)
            images.setdefault(image, []).extend(turns.texts(_turns(conversation, f"{where}.conversations")))
        if texts_only:
            logger.warning("%s: left out %d records without an image", file, texts_only)
        turns.log(file)
        for image, captions in images.items():
            yield Entry(file_id(image), split, image_place(config, root, image, split), captions)


def _turns(conversation: list[Any], where: str) -> Iterator[tuple[str, str]]:
    """Yield the speaker and the text of each turn."""
    for index, turn in enumerate(conversation):
        at = f"{where}[{index}]"
        yield take(turn, "from", str, at, _EXPECTED), take(turn, "value", str, at, _EXPECTED)
