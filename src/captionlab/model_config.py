"""config.json beside weights: what it says of a model that was made here, or of one in the format of transformers."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from captionlab.given import read_json

AnyPath = str | os.PathLike[str]
NAME, WEIGHTS = "config.json", "model.safetensors"
# By section of a config what else lies in the folder of a model made here, by the key that names it on import.
BESIDE: Mapping[str, Mapping[str, str]] = {
    "encoders": {},
    "captioners": {"tokenizer": "tokenizer.json"},
    "scorers": {"vocabulary": "vocab.txt"},
}


def read_config(path: Path) -> dict[str, Any]:
    """What a config.json says, nothing where there is none; ValueError for what is no JSON object."""
    if not path.is_file():
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise ValueError(f"{path} is no JSON object, as that of a model is; take it away where it is of none")
    return found


def made_here(path: Path, section: str, family: str | None = None) -> dict[str, Any]:
    """What a config.json says of a model of this section that was made here; nothing where it is of none.

    ValueError for a model of another section or family, for adapters, which are none without their parent, and for an
    encoder that scores: it is no more than its encoder.
    """
    found = read_config(path)
    if not isinstance(found.get("family"), str):
        return {}
    kind = "scorers" if "matching" in found else "captioners" if "origin" in found else "encoders"
    if kind != section:
        raise ValueError(f"{path} is of one of the {kind}; name a folder of results/{section}")
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
    """Raise ValueError for a size that is given and that a config.json says otherwise."""
    for key in given.keys() & said.keys():
        if given[key] != said[key]:
            raise ValueError(
                f"{key} is {given[key]}, and {path} beside the weights says {said[key]}; correct the one that is "
                "wrong, or put the weights into a folder of their own where that file is of others"
            )


def with_sizes_beside(weights: AnyPath, sizes: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """These sizes of published weights and, under those of the `keys` that it has, those in a config.json beside them.

    That is one of transformers, which says the number of heads, of the text where there are two towers, and the width
    that they share. ValueError where it says another size.
    """
    beside = Path(weights).with_name(NAME)
    found = read_config(beside)
    text, vision = found.get("text_config", found), found.get("vision_config", {})
    said = {"heads": text.get("num_attention_heads"), "visual_heads": vision.get("num_attention_heads")}
    said |= {"width": text.get("hidden_size")}
    refuse_other(beside, sizes, {key: size for key, size in said.items() if size is not None})
    return {**{key: said[key] for key in keys if said.get(key) is not None}, **sizes}
