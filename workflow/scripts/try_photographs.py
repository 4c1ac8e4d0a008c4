"""Turn a folder of photographs into tables without writing a config: the config is generated, then run.

./lab try FOLDER [CAPTIONS] [-- options of Snakemake]

CAPTIONS is a CSV, TSV or JSON-lines file with `file` and `caption`. The config, a starting point for further work, and
the run are in runs/<name of the folder>/. Models are the published models below data/ if they exist, else the models of
the toy world that come with captionlab. Until somebody changes the config, another call for the same folder, with
other captions or models, replaces it and makes again what is affected.
"""

import argparse
import hashlib
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from captionlab.corpora.readers.folder.reader import read
from captionlab.storage import paths
from captionlab.storage.files import replacing

ROOT = Path(__file__).parents[2]
Block = dict[str, Any]
# Captioners, and the encoders that they read and that search images, by their names in config/paper.yaml.
PUBLISHED = {"captioners": ("clipcap-coco", "clipcap-concap"), "encoders": ("clip-b32",)}
# Captioners and encoders of the toy world; the captioners read the first encoder.
TOY = {"captioners": ("toy-clipcap-coco", "toy-clipcap-concap"), "encoders": ("toy-clip-a", "toy-clip-b")}
# First line of a config, with a digest of the others that tells whether somebody changed them.
MARK = "# Replaced by the next `./lab try`, unless somebody changed it since its digest was "
# Options of Snakemake that make nothing.
DRY = re.compile(r"--dry-?run|-[a-zA-Z]*n[a-zA-Z]*")
# Equal to `beam5` in config/config.yaml; docs/fidelity.md has the source of 30 new tokens.
BEAM = {"kind": "beam", "beams": 5, "max_tokens": 30, "stop": "."}


class TryError(ValueError):
    """The photographs cannot be tried. The message says why, and what to do."""


def published(data: Path) -> Block | None:
    """Return blocks of captioners and encoders with published weights below the folder of data, or None.

    The result is None if no captioner, or not every encoder, has its weights there.
    """
    given = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    found = {
        section: {name: _without(given[section][name], "corpus") for name in names}
        for section, names in PUBLISHED.items()
    }
    found["captioners"] = {name: block for name, block in found["captioners"].items() if _there(block, data)}
    return found if found["captioners"] and all(_there(block, data) for block in found["encoders"].values()) else None


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
    text = f"# Made by `./lab try`, to go on from; config/README.md explains every key.\n# {said}\n{text}"
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
            f"{config} was changed since `./lab try` wrote it, and is kept. Go on with it by the command below; or "
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
        "name": _name(folder),
        "seed": 1,
        "data": str(data),
        "spice": "off",
        "corpora": {"photographs": corpus},
        "encoders": models["encoders"],
        "captioners": {**models["captioners"], **people},
        "decodings": {"beam5": BEAM},
        "evaluations": {"photographs": evaluation},
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the config and run it; return the exit code of Snakemake, or 1 if the photographs cannot be tried."""
    parser = argparse.ArgumentParser(
        prog="./lab try", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of photographs")
    parser.add_argument("captions", type=Path, metavar="CAPTIONS", nargs="?", help="file of their captions")
    parser.add_argument("--directory", type=Path, help="where it runs; default: runs/<name of the folder>")
    parser.add_argument(
        "--data", type=Path, default=ROOT / "data", help="folder of published weights; default: data/ of this checkout"
    )
    parser.add_argument(
        "--dry-run", "-n", action="store_true", help="write the config and show what would run, without running it"
    )
    own, others = _parted(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(own)
    others += ["--dry-run"] * options.dry_run
    place = (options.directory or ROOT / "runs" / _name(options.folder)).absolute()
    config = place / "config.yaml"
    try:
        for path, there in ((options.folder, Path.is_dir), (options.captions, Path.is_file)):
            if path and not there(path):
                raise TryError(f"there is no {'folder' if there is Path.is_dir else 'file'} {path}")
        text, said = written_config(options.folder, options.captions, options.data.absolute())
        options_of_run = ["--configfile", str(config), "--directory", str(place), *others]
        command = shlex.join([str(ROOT / "lab"), "tables", *options_of_run])
        check_replaceable(config, text, command)
    except ValueError as error:  # also raised by the reader of photographs and captions
        print(error, file=sys.stderr)
        return 1
    with replacing(config) as partial:
        partial.write_text(text, encoding="utf-8")
    print(f"{said}\nThe config is {config}; this runs it:\n  {command}", flush=True)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "all"]
    done = subprocess.run([*snakemake, *options_of_run]).returncode
    if not done and not any(map(DRY.fullmatch, others)):
        print(f"Tables are in {place}/results/tables/: open index.html")
    return done


def _parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of this script and, after --, the arguments of Snakemake."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _name(folder: Path) -> str:
    """Return a name for a config, from the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-") or "photographs"


def _without(block: Mapping[str, Any], key: str) -> Block:
    return {name: value for name, value in block.items() if name != key}


def _there(block: Mapping[str, Any], data: Path) -> bool:
    """Return whether the files that the block of a model names exist below the folder of data."""
    return all((data / block[key]).is_file() for key in ("weights", "tokenizer") if key in block)


if __name__ == "__main__":
    sys.exit(main())
