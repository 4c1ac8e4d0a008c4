"""Captions and references of a run in COCO's formats, which other programs read."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from captionlab.library.runs import Run, RunError
from captionlab.storage.files import replacing

# Ids that COCO writes as numbers.
_NUMBER = re.compile("0|[1-9][0-9]*")


def coco_results(run: Run, captioner: str, evaluation: str, corpus: str | None = None) -> list[dict[str, Any]]:
    """Return captions as COCO's results: a list of `image_id` and `caption`, in the order of the evaluation.

    Ids are numbers if all ids of the captions are whole numbers. If an image has several captions, each has a
    `caption_index`. Without `corpus`, the evaluation must have one corpus only. Raises RunError if the captions are not
    there.
    """
    captions = exported(run, captioner, evaluation, corpus)
    captions["image_id"] = pd.Series(_ids(captions["image_id"].tolist()), dtype=object)
    columns = ["image_id", "caption"] + ["caption_index"] * bool(captions["image_id"].duplicated().any())
    return [dict(zip(columns, row, strict=True)) for row in captions[columns].itertuples(index=False, name=None)]


def coco_references(run: Run, captions: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the references of captioned images as COCO's annotations: `images` and `annotations`.

    Raises RunError if an image has no references.
    """
    corpus, wanted = str(captions["corpus"].iloc[0]), list(dict.fromkeys(captions["image_id"]))
    references = run.references(corpus)
    if missing := sorted({*wanted} - {*references["image_id"]}):
        raise RunError(f"{len(missing)} captioned images of {corpus!r} have no references, the first is {missing[0]!r}")
    texts = references.groupby("image_id")["caption"].apply(list)
    named = dict(zip(wanted, _ids(wanted), strict=True))
    pairs = [(named[image], text) for image in wanted for text in texts[image]]
    return {
        "images": [{"id": name} for name in named.values()],
        "annotations": [{"id": number, "image_id": name, "caption": text} for number, (name, text) in enumerate(pairs)],
    }


def exported(run: Run, captioner: str, evaluation: str, corpus: str | None) -> pd.DataFrame:
    """Return the captions to export, all of one corpus. Raises RunError that lists the corpora if there are several."""
    captions = run.captions(captioner, corpus, evaluation)
    if len(there := list(captions["corpus"].unique())) > 1:
        raise RunError(
            f"{captioner!r} has captions of {len(there)} corpora for {evaluation!r}; name one of {', '.join(there)}"
        )
    return captions


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, completely or not at all. Its folder is made if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def _ids(names: Sequence[str]) -> list[str] | list[int]:
    """Return ids as COCO writes them: numbers if all are whole numbers without leading zeros, else texts."""
    return [int(name) for name in names] if all(map(_NUMBER.fullmatch, names)) else list(names)
