"""Files and cards of what a run can send to a model hub: a captioner, or the captions of an evaluation."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import DatasetCard, DatasetCardData, ModelCard

from captionlab.records.contents import Contents, public_value
from captionlab.reporting.templates import template
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED, SUMMARY
from captionlab.storage.tables import read_metadata, read_table

MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")
CONFIGS = frozenset({"config.json", "adapter_config.json"})  # files that may name folders of this machine
ADAPTERS = "adapter_config.json"
TASK = "image-to-text"


@dataclass(frozen=True)
class Shipment:
    """Files for a repository of a hub: each name there, and the file or its bytes. The card is among them."""

    kind: str  # model or dataset, as hubs name kinds of repositories
    files: dict[str, Path | bytes]
    message: str

    @property
    def card(self) -> str:
        """Return the text of the card."""
        card = self.files[paths.CARD]
        return card.decode() if isinstance(card, bytes) else card.read_text(encoding="utf-8")

    def sizes(self) -> dict[str, int]:
        """Return the size of each file in bytes."""
        return {n: len(file) if isinstance(file, bytes) else file.stat().st_size for n, file in self.files.items()}


# ---------------------------------------------------------------------------------------------------- captioners
def captioner_shipment(folder: Path, captioner: str, repository: str) -> Shipment:
    """Return a captioner that the run in a folder trained, with its model card.

    If the captioner was exported (`snakemake results/exports/NAME`), its files are those that transformers or peft
    read, or else those of captionlab. Raises ValueError if the run has no such captioner or did not train it.
    """
    own, exported = folder / paths.captioner("", captioner=captioner), folder / paths.export(captioner=captioner)
    if not (own / paths.CARD).is_file():
        raise ValueError(_no_card(folder, captioner, own))
    source = exported if exported.is_dir() else own
    names = sorted(path.name for path in source.iterdir() if path.is_file() and not path.name.startswith("."))
    names = [name for name in names if name != paths.CARD and (source == exported or name in MODEL_FILES)]
    files: dict[str, Path | bytes] = {name: _public_file(source / name) for name in names}
    card = ModelCard((own / paths.CARD).read_text(encoding="utf-8"))
    if source == exported:
        config = json.loads((source / (ADAPTERS if ADAPTERS in names else "config.json")).read_text(encoding="utf-8"))
        card.data["library_name"] = "peft" if ADAPTERS in names else "transformers"
        loading = _loading_elsewhere(config, repository)
    else:
        loading = f"Fetch the folder: `hf download {repository} --local-dir FOLDER`.\n\n"
    card.text = _with_loading(_without_links(card.text), loading, whole=source == exported)
    return Shipment("model", {paths.CARD: str(card).encode(), **files}, f"Captioner {captioner} by captionlab")


def _no_card(folder: Path, captioner: str, own: Path) -> str:
    cards = sorted(path.parent.name for path in (folder / paths.RESULTS / "captioners").glob(f"*/{paths.CARD}"))
    if own.is_dir():
        return (
            f"{captioner} has no model card ({own / paths.CARD}): its weights were not trained by this run, or its "
            "tables are not finished; only captioners with a card are sent"
        )
    return f"there is no captioner {captioner} in {folder}; those with a card are {', '.join(cards) or 'none'}"


def _public_file(path: Path) -> Path | bytes:
    """Return a file to be sent, or its bytes without folders of this machine if it names any."""
    if path.name not in CONFIGS:
        return path
    content = json.loads(path.read_text(encoding="utf-8"))
    public = public_value(content)
    return path if public == content else json.dumps(public, indent=2, sort_keys=True).encode()


def _loading_elsewhere(config: dict[str, Any], repository: str) -> str:
    """Return how transformers or peft load an exported captioner."""
    if "peft_type" in config:
        parent = config["base_model_name_or_path"]
        lines = ["from peft import PeftModel", "", f'model = PeftModel.from_pretrained(parent, "{repository}")']
        return "\n".join([f"Where `parent` is the model {parent}:", "", "```python", *lines, "```", "", ""])
    model = config["architectures"][0]
    lines = [f"from transformers import AutoProcessor, {model}", "", f'model = {model}.from_pretrained("{repository}")']
    return "\n".join(["```python", *lines, f'processor = AutoProcessor.from_pretrained("{repository}")', "```", "", ""])


def _with_loading(text: str, loading: str, whole: bool) -> str:
    """Return a card with a text at the start of its section on loading, or in place of the section if `whole`."""
    before, heading, rest = text.partition("## How to load it\n\n")
    section, following, after = rest.partition("## How to cite it")
    return f"{before}{heading}{loading}{'' if whole else section}{following}{after}"


def _without_links(text: str) -> str:
    """Return a card without links to cards of other models of the run, which are not sent."""
    return re.sub(r"\[([^\]]+)\]\(\.\.?/[^)]*\)", r"\1", text)


# ------------------------------------------------------------------------------------------------------ captions
def captions_shipment(folder: Path, evaluation: str) -> Shipment:
    """Return the captions that captioners of a run generated for an evaluation, with a data set card.

    Images, references and captions of people are not among them. Raises ValueError if there are no such captions.
    """
    contents = Contents(folder)
    names = contents.captions(evaluation)
    if not names:
        known = sorted({paths.captioner_of(name)[1] for name in contents.captions()})
        raise ValueError(
            f"no captioner of {folder} generated captions for {evaluation}; there are captions for "
            f"{', '.join(known) or 'no evaluation'}"
        )
    files: dict[str, Path | bytes] = {f"{paths.captioner_of(name)[0]}.parquet": folder / name for name in names}
    generated = [_generated(contents, name) for name in names]
    corpora = sorted({corpus for row in generated for corpus in row["corpora"]})
    configs = [
        {"config_name": row["captioner"], "data_files": [{"split": "captions", "path": f"{row['captioner']}.parquet"}]}
        for row in generated
    ]
    toy = any(contents.config["corpora"].get(corpus, {}).get("reader") == "toyworld" for corpus in corpora)
    tags = ["captionlab", "image-captioning", *(["toy"] if toy else [])]
    data = DatasetCardData(language="en", task_categories=[TASK], tags=tags, configs=configs)
    text = template("captions_card.md.jinja").render(
        evaluation=evaluation,
        config=contents.config.get("name", "unnamed"),
        generated=generated,
        corpora=corpora,
        metrics=_metrics(folder, evaluation, [row["captioner"] for row in generated]),
        columns=GENERATED.columns,
        toy=toy,
        caveats=contents.caveats,
    )
    card = DatasetCard(f"---\n{data.to_yaml()}\n---\n\n{text}")
    return Shipment("dataset", {paths.CARD: str(card).encode(), **files}, f"Captions of {evaluation} by captionlab")


def _generated(contents: Contents, name: str) -> dict[str, Any]:
    """Return how the captions of a file came about: captioner, corpora, decoding, seed, commit, device, number."""
    job = next(job.made for job in contents.jobs if name in job.made["outputs"])
    captions = read_table(contents.folder / name, GENERATED)
    return {
        "captioner": paths.captioner_of(name)[0],
        "corpora": captions["corpus"].unique().to_pylist(),
        "captions": captions.num_rows,
        "decoding": read_metadata(contents.folder / name).get("decoding"),
        "seed": job["params"].get("seed"),
        "commit": job["commit"],
        "device": job["device"],
        "served": job.get("served", []),
    }


def _metrics(folder: Path, evaluation: str, captioners: Sequence[str]) -> list[dict[str, Any]]:
    rows = read_table(folder / paths.reporting("summary.parquet"), SUMMARY).to_pylist()
    return [row for row in rows if row["evaluation"] == evaluation and row["captioner"] in captioners]
