"""The config.json beside weights, of a model made by captionlab or of a model in the format of transformers."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from captionlab.userfiles.reading import read_json

AnyPath = str | os.PathLike[str]
NAME, WEIGHTS = "config.json", "model.safetensors"
# By section of a config, the other files in the folder of a model made by captionlab, by the key that imports them.
BESIDE: Mapping[str, Mapping[str, str]] = {
    "encoders": {},
    "captioners": {"tokenizer": "tokenizer.json"},
    "scorers": {"vocabulary": "vocab.txt"},
}


def read_config(path: Path) -> dict[str, Any]:
    """Return the content of a config.json; empty if there is no file. Raises ValueError if it is not a JSON object."""
    if not path.is_file():
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise ValueError(
            f"{path} is no JSON object, as the config.json of a model is; remove it if it belongs to no model"
        )
    return found


def made_here(path: Path, section: str, family: str | None = None) -> dict[str, Any]:
    """Return the config.json of a model of this section that captionlab made; empty if captionlab did not make it.

    Raises ValueError if the model is of another section or family. Raises ValueError also for adapters, which cannot be
    used without their parent, and for an encoder that scores, because its encoder should be reused instead.
    """
    found = read_config(path)
    if not isinstance(found.get("family"), str):
        return {}
    kind = "scorers" if "matching" in found else "captioners" if "origin" in found else "encoders"
    if kind != section:
        raise ValueError(f"{path} belongs to one of the {kind}; name a folder of results/{section}")
    if "lora" in found:
        raise ValueError(
            f"{path} is of adapters, which are read with their parent, {found['parent']['captioner']}, and only in the "
            "run that made them; finetune there with lora: {merge: true}, which writes a whole captioner"
        )
    if "scorer" in found:
        settings = json.dumps({"family": found["scorer"], "encoder": "<its name>", **found["matching"]})
        raise ValueError(f"{path} is of an encoder that scores; reuse the encoder, and write {settings}")
    if family not in (None, found["family"]):
        raise ValueError(f"{path} is of a {found['family']}, and the config says family: {family}; correct it")
    return found


def refuse_other(path: Path, given: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    """Raise ValueError if a size in `given` differs from the size in a config.json."""
    for key in given.keys() & said.keys():
        if given[key] != said[key]:
            raise ValueError(
                f"{key} is {given[key]}, and {path} beside the weights says {said[key]}; correct the wrong "
                "one, or, if the file belongs to other weights, put the weights into another folder"
            )


def with_sizes_beside(weights: AnyPath, sizes: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Return the sizes of published weights, completed for these `keys` from the config.json beside the weights.

    The config.json is in the format of transformers. It has the number of heads, of the text tower and the vision tower
    if there are two, and the width that both share. Raises ValueError if it contradicts `sizes`.
    """
    beside = Path(weights).with_name(NAME)
    found = read_config(beside)
    text, vision = found.get("text_config", found), found.get("vision_config", {})
    said = {"heads": text.get("num_attention_heads"), "visual_heads": vision.get("num_attention_heads")}
    said |= {"width": text.get("hidden_size")}
    refuse_other(beside, sizes, {key: size for key, size in said.items() if size is not None})
    return {**{key: said[key] for key in keys if said.get(key) is not None}, **sizes}
