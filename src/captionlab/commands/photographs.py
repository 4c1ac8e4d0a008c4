"""A config for a folder of photographs, with the captioners and encoders that are there."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from captionlab.corpora.readers.folder.reader import read
from captionlab.installation import PROJECT, call
from captionlab.storage import paths

Block = dict[str, Any]
# Captioners, and the encoders that they read and that search images, by their names in config/paper.yaml.
PUBLISHED = {"captioners": ("clipcap-coco", "clipcap-concap"), "encoders": ("clip-b32",)}
# Captioners and encoders of the toy world; the captioners read the first encoder.
TOY = {"captioners": ("toy-clipcap-coco", "toy-clipcap-concap"), "encoders": ("toy-clip-a", "toy-clip-b")}
# First line of a config, with a digest of the others that tells whether somebody changed them.
MARK = f"# Replaced by the next `{call()} try`, unless somebody changed it since its digest was "
# Equal to `beam5` in config/config.yaml; docs/fidelity.md has the source of 30 new tokens.
BEAM = {"kind": "beam", "beams": 5, "max_tokens": 30, "stop": "."}


class TryError(ValueError):
    """The photographs cannot be tried. The message says why, and what to do."""


def published(data: Path) -> Block | None:
    """Return blocks of captioners and encoders with published weights below the folder of data, or None.

    The result is None if no captioner, or not every encoder, has its weights there.
    """
    given = yaml.safe_load((PROJECT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    blocks = {
        section: {name: _without(given[section][name], "corpus") for name in names}
        for section, names in PUBLISHED.items()
    }
    blocks["captioners"] = {name: block for name, block in blocks["captioners"].items() if _there(block, data)}
    return (
        blocks if blocks["captioners"] and all(_there(block, data) for block in blocks["encoders"].values()) else None
    )


def of_the_toy_world() -> Block:
    """Return blocks of the captioners and encoders that come with captionlab."""
    blocks = {section: {name: {"run": f"{paths.MODELS}/{name}"} for name in names} for section, names in TOY.items()}
    for captioner in blocks["captioners"].values():
        captioner["encoder"] = TOY["encoders"][0]
    return blocks


def written_config(folder: Path, captions: Path | None, data: Path) -> tuple[str, str]:
    """Return the text of a config for these photographs, and a sentence on its models.

    Raises TryError if there are too few photographs, or too few in the split test.
    """
    corpus: Block = {"reader": "folder", "images": str(folder.absolute()), "max_rejected": 0.1}
    if captions:
        corpus["captions"] = str(captions.absolute())
    images = [entry.split for entry in read(corpus, Path())]
    if len(images) < 2:
        raise TryError(f"{captions or folder} has {len(images)} photographs; at least two are needed")
    tests = images.count("test")
    if tests < 2:
        raise TryError(
            f"{tests} of the {len(images)} photographs of {captions or folder} are of the split test, of which the "
            "tables are made; at least two are needed, so write test into its column split for some"
        )
    if models := published(data):
        said = f"Published weights below {data} caption them."
    else:
        models = of_the_toy_world()
        said = (
            "Models of the toy world caption them: they have seen drawings only, so what they say of photographs shows "
            "the way and nothing else. docs/data.md says which published weights go below data."
        )
    block = _whole(folder, corpus, models, tests, data)
    text = yaml.safe_dump(block, sort_keys=False, allow_unicode=True, width=120)
    text = f"# Made by `{call()} try`, to go on from; config/README.md explains every key.\n# {said}\n{text}"
    return f"{_mark(text)}\n{text}", said


def check_replaceable(config: Path, text: str, command: str) -> None:
    """Raise TryError if a config is there that must not be replaced by another text.

    It must not be if somebody changed it, or if it is about the photographs of another folder. `command` runs it.
    """
    if not config.exists() or (old := config.read_text(encoding="utf-8")) == text:
        return
    first, _, rest = old.partition("\n")
    if first != _mark(rest):
        raise TryError(
            f"{config} was changed since `{call()} try` wrote it, and is kept. Go on with it by the command below; or "
            f"name another folder by --directory, for a new config; or delete it\n  {command}"
        )
    folder, other = (yaml.safe_load(one)["corpora"]["photographs"]["images"] for one in (text, old))
    if folder != other:
        raise TryError(f"{config} is about the photographs of {other}; name another folder by --directory for {folder}")


def _mark(text: str) -> str:
    """Return the first line of a config with this text below it."""
    return f"{MARK}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _whole(folder: Path, corpus: Block, models: Block, images: int, data: Path) -> Block:
    """Return the whole config, which evaluates on `images` images and reads published weights below `data`."""
    people = {"human": {"family": "human"}} if "captions" in corpus else {}
    retrievers = [*models["encoders"]]
    evaluation = {
        "captioners": [*models["captioners"], *people],
        "corpora": ["photographs"],
        "decoding": "beam5",
        "retrievers": retrievers,
        "candidates": 100 if images >= 200 else 10 if images >= 20 else max(2, images // 2),
        "candidate_sets": "random",
        "clipscore": [*retrievers],  # another list, because YAML would write one list as an anchor and an alias
        "diversity": True,
    }
    return {
        "name": name_of(folder),
        "seed": 1,
        "data": str(data),
        "spice": "off",
        "corpora": {"photographs": corpus},
        "encoders": models["encoders"],
        "captioners": {**models["captioners"], **people},
        "decodings": {"beam5": BEAM},
        "evaluations": {"photographs": evaluation},
    }


def name_of(folder: Path) -> str:
    """Return a name for a config, from the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-") or "photographs"


def _without(block: Mapping[str, Any], key: str) -> Block:
    return {name: value for name, value in block.items() if name != key}


def _there(block: Mapping[str, Any], data: Path) -> bool:
    """Return whether the files that the block of a model names exist below the folder of data."""
    return all((data / block[key]).is_file() for key in ("weights", "tokenizer") if key in block)
