"""The training images of a corpus as a data set of TRL."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.captioners.prompts import turn
from captionlab.training.loop.data import TrainingData


def dataset_of(data: TrainingData, columns: Mapping[str, Sequence[str]]) -> Any:
    """Return a `datasets.Dataset` that decodes images when rows are read.

    `columns` are `image_id` and columns of captions. A row has the `prompt` (a conversation), the `image`, the
    `image_id`, and the captions as answers in the conversation. Raises ValueError if the captioner has no chat or reads
    features.
    """
    from datasets import Dataset

    images, block = data.captioner.open_images(data.features, data.tokenizer), data.captioner.architecture["block"]
    if images is None or "chat" not in block:
        raise ValueError("TRL trains captioners that read images and have a `chat`; import the parent as such")
    prompt = [turn(block["chat"])]

    def read(rows: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
        ids = list(rows["image_id"])
        answers = {name: [_answer(text) for text in texts] for name, texts in rows.items() if name != "image_id"}
        return {"prompt": [prompt] * len(ids), "image": list(images.rows(ids).images), "image_id": ids, **answers}

    return Dataset.from_dict(dict(columns)).with_transform(read)


def with_references(data: TrainingData) -> dict[str, list[str]]:
    """Return the columns of a data set that has a row for each reference of the training images."""
    rows = [(image, text) for image, texts in zip(data.ids, data.texts, strict=True) for text in texts]
    return {"image_id": [image for image, _ in rows], "completion": [text for _, text in rows]}


def with_pairs(data: TrainingData, pairs: Mapping[int, Sequence[str]]) -> dict[str, list[str]]:
    """Return the columns of a data set that has a row for each pair of captions, by the row of its training image."""
    preferred, others = zip(*pairs.values(), strict=True)
    return {"image_id": [data.ids[row] for row in pairs], "chosen": list(preferred), "rejected": list(others)}


def _answer(text: str) -> list[dict[str, Any]]:
    """Return the conversation part in which the captioner answers with a text."""
    return [{"role": "assistant", "content": [{"type": "text", "text": text}]}]
