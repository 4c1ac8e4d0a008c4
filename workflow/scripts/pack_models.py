"""Put the models of a finished run of config/toy_models.yaml into resources/toyworld/models/, for maintainers.

python workflow/scripts/pack_models.py runs/toy_models

Each folder gets the files that an import reads, weights in half precision, and the card that the run wrote, with a
section on the copy. CLIP's token embeddings are reduced to the tokens of the toy world. A model that was trained by
changed files of a checkout is refused, because nobody could train it again.
"""

import argparse
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.corpora.toyworld.render import render
from captionlab.encoders.clip.encoder import tokenise
from captionlab.evaluation.metrics.clipscore.metric import PROMPT
from captionlab.networks.checkpoints import read_checkpoint
from captionlab.networks.compact import write_compact
from captionlab.storage import paths
from captionlab.storage.files import digest, read_yaml, replacing
from captionlab.storage.schemas import CAPTIONS
from captionlab.storage.tables import read_table
from captionlab.texts.unknown import UNKNOWN
from captionlab.userfiles.model_config import BESIDE, NAME, WEIGHTS

ROOT = Path(__file__).parents[2]
RUN = "snakemake --cores 2 --configfile config/config.yaml config/toy_models.yaml --directory runs/toy_models"
# CLIP's token embeddings.
WORDS = "token_embedding.weight"
PAD = 0
# Further files by section. The quality of a scorer can be measured only in the run that trained it.
ALSO: Mapping[str, tuple[str, ...]] = {"encoders": (), "captioners": (), "scorers": ("matching.parquet",)}
# Changes to the card of the run: the folders of the copies lie side by side, and the copies have a licence.
CHANGED = {
    r"\]\((?:\.\./)+(?:\w+/)?(?=toy-)": "](../",
    r"(?<=- Licence of the weights: ).*": "captionlab's; all that it learned from was made by captionlab",
    r"nobody has added to it": "only its last section was added later",
}
# How many images of each domain are rendered for their captions.
IMAGES = 1000


def published() -> list[tuple[str, str]]:
    """Return section and name of the models that the default config imports from the checkout."""
    config = read_yaml(ROOT / "config" / "config.yaml")
    blocks = [(section, name, block) for section in BESIDE for name, block in config[section].items()]
    return [(section, name) for section, name, block in blocks if block.get("run") == f"{paths.MODELS}/{name}"]


def toyworld_captions(run: Path) -> set[str]:
    """Return the captions of all corpora of a run and of each domain, and the texts that metrics and captioners add."""
    corpora = (run / paths.RESULTS / "corpora").glob("*/captions.parquet")
    found = {text for path in corpora for text in read_table(path, CAPTIONS, ["caption"])["caption"].to_pylist()}
    for domain in DOMAINS:
        found.update(text for image in render(domain, 0, {"test": IMAGES}) for text in image.captions)
    return found | {PROMPT, UNKNOWN}


def pack(run: Path, section: str, name: str, tokens: set[int], folder: Path) -> None:
    """Write the folder of a model; `tokens` are the rows of its token embeddings to keep."""
    source = run / paths.RESULTS / section / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in (NAME, *BESIDE[section].values(), *ALSO[section]):
        shutil.copy(source / file, folder / file)
    weights = read_checkpoint(source / WEIGHTS)
    write_compact(folder / WEIGHTS, weights, {WORDS: tokens} if WORDS in weights else {})
    with replacing(folder / paths.CARD) as partial:
        partial.write_text(card(run, section, name, folder), encoding="utf-8")


def card(run: Path, section: str, name: str, folder: Path) -> str:
    """Return the card that the run wrote, with links for folders side by side, and with a section on the copy."""
    text = (run / paths.model(paths.CARD, section, name)).read_text(encoding="utf-8")
    for pattern, replacement in CHANGED.items():
        text = re.sub(pattern, replacement, text)
    inputs = made(run, paths.model(WEIGHTS, section, name))["inputs"]
    rows = f"; of `{WORDS}` rows of tokens that the toy world says" if section == "encoders" else ""
    lines = [
        "## The copy that comes with captionlab",
        "",
        f"- Weights: half precision, {(folder / WEIGHTS).stat().st_size / 1e6:.1f} MB{rows}",
        f"- BLAKE2b of the weights here: `{digest(folder / WEIGHTS)}`",
        f"- To train it again, by all settings of config/toy_models.yaml: `{RUN}`",
        "- To hold what comes out against it: `python workflow/scripts/compare_models.py runs/toy_models`",
        "",
        "Files that it was made from, with their BLAKE2b:",
        "",
        *(f"- `{path}`: `{made_of}`" for path, made_of in sorted(inputs.items())),
    ]
    return text.rstrip() + "\n\n" + "\n".join(lines) + "\n"


def made(run: Path, path: str) -> dict[str, Any]:
    """Return the provenance of the job that made a file of a run."""
    records = (json.loads(file.read_text(encoding="utf-8")) for file in (run / paths.PROVENANCE).rglob("*.json"))
    return next(record for record in records if path in record["outputs"])


def check_commit(run: Path, section: str, name: str) -> None:
    """Exit unless a model was trained by the files of a commit, which a reader of its card can get."""
    weights = paths.model(WEIGHTS, section, name)
    commit = made(run, weights)["commit"]
    if not commit or commit.endswith("+"):
        by = f"files that differ from those of commit {commit.rstrip('+')}" if commit else "files of no commit"
        sys.exit(f"{run / weights} was made by {by}; commit them and train it again")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of the run, the one that holds results/")
    options = parser.parse_args(arguments)
    captions = sorted(toyworld_captions(options.run))
    tokens = {token for ids in tokenise(captions, 1000) for token in ids} | {PAD}
    models = published()
    for section, name in models:
        check_commit(options.run, section, name)
    for section, name in models:
        folder = ROOT / paths.MODELS / name
        pack(options.run, section, name, tokens, folder)
        print(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
