"""Model card of a model that a run trained, in the layout of model hubs.

A card has only what the run knows: its config, the provenance of its jobs, and its tables. Anything else is called
unknown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.reporting.claims.validity import CONDITIONS
from captionlab.reporting.documents.card_results import Results
from captionlab.reporting.documents.costs import clock
from captionlab.reporting.documents.facts import Counts, Trained, Validated, many
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.formats.markdown import escape_markdown, markdown_rows
from captionlab.reporting.tables.parameters import flat_parameters
from captionlab.storage import paths
from captionlab.userfiles.model_config import WEIGHTS

UNKNOWN = "unknown"
KINDS = {"captioners": "image captioner", "encoders": "encoder of images and texts", "scorers": "image-text scorer"}
# Task under which hubs list a model. They have no task for matching an image with a text.
TASKS = {"captioners": "image-to-text", "encoders": "image-feature-extraction"}
# What a model reads of an image, by the input that its family declares.
READS = {
    "vector": "one vector, of an encoder", "patches": "a vector for each place, of an encoder",
    "patches-or-pixels": "a vector for each place, of an encoder, or its pixels",
    "regions": "regions", "tagged-regions": "regions and the names of objects", "pixels": "its pixels",
    "embeddings": "the embedding of an encoder",
}  # fmt: skip
LOADERS = {
    "captioners": ("captioners", "captioner, tokenizer = load_captioner"),
    "encoders": ("encoders", "encoder = load_encoder"),
    "scorers": ("scorers", "scorer = load_scorer"),
}
LANGUAGE = "en"  # the tokenizer of references, the tagger and the word lists of captionlab are for English
TOY = (
    "It has seen nothing but drawings of a toy world and captions that a program made of them. It knows nothing of "
    "photographs, and no number of it says anything about a model of the same family at full scale."
)
UNREAD = (
    "Nobody has read the captions that it learned from: they may be wrong, and what is biased or offensive in them may "
    "be in what it says."
)
LIMITS = {
    "captioners": "It was looked at by the metrics above alone. They say how like its captions are to those of people, "
    "or how well other models find the image by them; not whether a person is served by a caption.",
    "encoders": "It was looked at by how well it finds images by captions, among images of the same corpus.",
    "scorers": "It was looked at by how well it tells captions of an image from those of others. A high score does not "
    "say that a caption is right: captioners that are trained on a score learn what raises it.",
}
INTERVALS = "Intervals are over images of one corpus, and over trainings where several are named; they say no more."


@dataclass(frozen=True)
class Context:
    """The data that all model cards of a run share."""

    corpora: Mapping[str, Row]  # corpus -> its entry in the config
    counts: Mapping[str, Counts]
    carded: frozenset[tuple[str, str]]  # section and name of models that have a card
    results: Results
    validity: Sequence[Row]  # rows of validity.csv
    papers: Mapping[str, str]  # name -> citation
    software: Row  # CITATION.cff


def card_text(model: Trained, context: Context) -> str:
    """Return the model card: YAML metadata between two lines of ---, then Markdown."""
    sections = {
        "What it is": _what(model, context),
        "What it was trained on": _data(model, context),
        "How it was trained": _training(model, context),
        "What it is worth": context.results.lines(model),
        "What it cannot do, and what nobody knows": _limits(model, context),
        "How to load it": _loading(model),
        "How to cite it": _citation(model, context),
    }
    lines = [f"# {escape_markdown(model.name)}", "", _summary(model, context), ""]
    for heading, content in sections.items():
        lines += [f"## {heading}", "", *content, ""]
    return f"---\n{metadata(model, context).to_yaml()}\n---\n\n" + "\n".join(lines).rstrip() + "\n"


def metadata(model: Trained, context: Context) -> Any:
    """Return the metadata that hubs read from a card (huggingface_hub's ModelCardData), without unknown keys."""
    from huggingface_hub import ModelCardData

    results = context.results.for_hubs(model, TASKS.get(model.section, "image-text-matching"))
    hubs = [context.corpora[corpus]["hub"] for corpus in model.corpora]
    bases = [source["repository"] for source in model.described["sources"] if source["repository"]]
    return ModelCardData(
        language=LANGUAGE,
        library_name="captionlab",
        pipeline_tag=TASKS.get(model.section),
        tags=["captionlab", model.section.removesuffix("s"), model.described["family"], *_toy_tag(model, context)],
        base_model=bases or None,
        datasets=sorted({hub for hub in hubs if hub}) or None,
        metrics=sorted({one.metric_type for one in results}) or None,
        model_name=model.name,
        eval_results=results or None,
    )


# ------------------------------------------------------------------------------------------------------- sections
def _summary(model: Trained, context: Context) -> str:
    """Return a paragraph: kind and family of the model, its parent and its training data, and who wrote the card."""
    what, family = KINDS[model.section], escape_markdown(model.described["family"])
    on = " and ".join(map(escape_markdown, model.corpora)) or f"{UNKNOWN} data"
    how = f"finetuned from {_link(model, model.section, model.parent, context)}" if model.parent else "trained"
    toy = f"\n\n**{TOY}**" if _toy_tag(model, context) else ""
    return (
        f"An {what} of the family {family}, {how} on {on} by captionlab. This card was written by the run that trained "
        f"it, from what that knows; nobody has added to it.{toy}"
    )


def _what(model: Trained, context: Context) -> list[str]:
    described = model.described
    reads = [_link(model, f"{key}s", name, context) for key, name in described["names"].items()]
    named = f": {', '.join(reads)}" if reads else ""
    lines = [
        f"- Family: {escape_markdown(described['headline'])}",
        f"- It reads of an image: {READS[described['reads']]}{named}",
        f"- Parameters: {many(model.parameters)} numbers in `{WEIGHTS}`, buffers and tied weights once",
        f"- Language: {LANGUAGE}",
        f"- Licence of the weights: {UNKNOWN}; whoever publishes them names one, and looks at those of the data first",
        "",
    ]
    if "lora" in model.config:
        parent = _link(model, model.section, model.parent, context)
        said = f"- Its weights are adapters (LoRA) alone, which change those of {parent}; both folders are needed"
        lines.insert(-1, said)
    sizes = flat_parameters({**model.config.get("architecture", {}), **model.config.get("lora", {})})
    return [*lines, "Sizes, as `config.json` has them:", "", *_pairs("size", sizes)]


def _data(model: Trained, context: Context) -> list[str]:
    rows = []
    for one in model.described["line"]:
        if corpus := one["corpus"]:
            found, known = context.counts[corpus], context.corpora[corpus]
            of_split = (many(counted.get("train", 0)) for counted in (found.images, found.captions))
            rejected = many(sum(found.rejects.values()))
            rows.append([one["name"], f"{corpus}, train", *of_split, rejected, licences(known)])
    headings = ["model", "corpus and split", "images", "captions", "left out of the corpus", "licence of the data"]
    lines = _table(headings, [False, False, True, True, True, False], rows)
    others = [one["name"] for one in model.described["line"] if not one["corpus"]]
    unknown = [
        f"What {escape_markdown(name)} was trained on is {UNKNOWN} here: its weights came from elsewhere."
        for name in others
    ]
    return [*lines, *([""] if unknown else []), *unknown]


def licences(corpus: Row) -> str:
    """Return the licences of a corpus, each with the part of the data that it covers, as in the table of sources."""
    if corpus["toy"]:
        return "made by captionlab from its own drawings and words"
    found = [f"{source['what']}: {source['licence']}" for source in corpus["sources"]]
    return "; ".join(found) or f"{UNKNOWN}: resources/sources.yaml knows none of its files"


def _training(model: Trained, context: Context) -> list[str]:
    made, described = model.made, model.described
    line = " ← ".join(_link(model, model.section, one["name"], context) for one in described["line"])
    lines = [f"- Lineage: {line}"]
    if described["rewards"]:
        rewards = (_link(model, section, name, context) for section, name in described["rewards"])
        lines.append(f"- Rewarded by: {', '.join(rewards)}")
    if training := described["snapshot_of"]:
        of, passed = _link(model, model.section, training, context), model.config["origin"]["snapshot"]
        after = f"epoch {passed['epochs']}" if "epochs" in passed else f"update {many(passed['updates'])}"
        lines.append(f"- Snapshot: the training of {of} after {after}; time and memory are of the whole training")
    lines += [f"- Updates: {many(model.updates)}", f"- Seed: {made['params'].get('seed', UNKNOWN)}"]
    if trainings := [name for name in described["trainings"] if name != model.name]:
        lines.append(f"- Trainings of the same settings by other seeds: {', '.join(trainings)}")
    versions = [f"{name} {version}" for name, version in made["params"].get("versions", {}).items()]
    lines += [
        f"- Validation: {validation_text(model.validated)}",
        f"- Device: {escape_markdown(made['device'])}",
        *_cost(model.cost),
        f"- Software: captionlab at commit {escape_markdown(made['commit'])}, Python {made['python']}, "
        f"{escape_markdown(', '.join(versions))}",
        f"- Everything that it was made from: `python -m captionlab.jobs.tracing {_file(model)}`",
        "",
    ]
    settings = {
        key: _shown(value)
        for key, value in flat_parameters(made["params"]["config"]).items()
        if not key.startswith("architecture.")
    }
    return [*lines, "Objective and hyper-parameters:", "", *_pairs("setting", settings)]


def validation_text(found: Validated | None) -> str:
    """Return the validation result of a training in words."""
    if found is None:
        return "none; the last weights count"
    which = "the weights that did best" if found.chosen else "the last weights count, whatever it says"
    return f"{found.measure} {found.value:.3f} after {many(found.step)} updates; {which}"


def _cost(cost: Row | None) -> list[str]:
    if cost is None:
        return [f"- Time and memory: {UNKNOWN}"]
    memory = UNKNOWN if cost["memory_mb"] is None else f"{cost['memory_mb']:.0f} MB"
    gpu = f"{clock(cost['gpu_seconds'])} of GPU, at most {cost['gpu_memory_mb']:.0f} MB there"
    return [
        f"- Time: {clock(cost['seconds'])} on the clock, {clock(cost['cpu_seconds'] or 0.0)} of processors, "
        f"{gpu if cost['gpu_seconds'] else 'no GPU'}; memory: {memory}",
        "- Where an interrupted training went on from a checkpoint, time is since then",
        "- Energy and emissions: not measured",
    ]


def _limits(model: Trained, context: Context) -> list[str]:
    lines = [TOY] if _toy_tag(model, context) else []
    lines += [UNREAD, LIMITS[model.section], INTERVALS]
    own = [row for row in context.validity if row["of"] == model.name]
    for row in own:
        said = f"{CONDITIONS[row['condition']].text}: {float(row['value']):.3g}{_unit(row)}"
        wanted = f"{row['relation']} {float(row['wanted']):.3g}{_unit(row)}"
        lines.append(f"{'Met' if row['met'] == 'True' else 'Not met'} by it: {said}, wanted {wanted}, n = {row['n']}.")
    if context.validity:
        met = sum(row["met"] == "True" for row in context.validity)
        lines.append(
            f"Of the {len(context.validity)} conditions that this run checked for its experiments to mean something, "
            f"{met} are met (table validity)."
        )
    else:
        lines.append("Whether the experiments of this run mean something was not checked: its config has no validity.")
    return [f"- {escape_markdown(line)}" for line in lines]


def _loading(model: Trained) -> list[str]:
    package, call = LOADERS[model.section]
    function = call.rpartition(" ")[2]
    python = ["```python", f"from captionlab.{package}.store import {function}", "", f'{call}("FOLDER")', "```", ""]
    if "lora" in model.config:
        parent = escape_markdown(str(model.parent))
        where = f"In Python, where `FOLDER` is that of this card, and the folder of {parent} lies beside it:"
        return [where, "", *python, f"`snakemake {paths.export(model.name)}` writes them as `peft` reads them."]
    names = "".join(f", {key}: {name}" for key, name in model.described["names"].items())
    lines = [
        "In a config of captionlab, where `FOLDER` is that of this card:", "", "```yaml",
        f"{model.section}:", f"  {model.name.replace('@', '-')}: {{run: FOLDER{names}}}", "```", "",
    ]  # fmt: skip
    if model.described["names"]:
        lines += ["What it reads must be what it was trained with, so take that from the same run.", ""]
    elsewhere = (
        "Elsewhere, `safetensors` reads the weights; `config.json` is captionlab's own, and no other library has a "
        "class that takes it."
    )
    return [*lines, "In Python:", "", *python, elsewhere]


def _citation(model: Trained, context: Context) -> list[str]:
    software = context.software
    lines = [f"- {escape_markdown(software['title'])}, version {software['version']}, {software['repository-code']}"]
    for paper, labels in model.described["papers"].items():
        stands = f" It stands for {', '.join(map(escape_markdown, labels))} there." if labels else ""
        lines.append(f"- {context.papers[paper]}.{stands}")
    return lines


# ---------------------------------------------------------------------------------------------------------- parts
def _toy_tag(model: Trained, context: Context) -> list[str]:
    return ["toy"] if any(context.corpora[corpus]["toy"] for corpus in model.corpora) else []


def _link(model: Trained, section: str, name: str | None, context: Context) -> str:
    """Return the name of a model, with a link to its card if it has one. A card does not link to itself."""
    if (section, name) not in context.carded or (section, name) == (model.section, model.name):
        return escape_markdown(str(name))
    folder = f"../{name}" if section == model.section else f"../../{section}/{name}"
    return f"[{escape_markdown(str(name))}]({folder}/{paths.CARD})"


def _file(model: Trained) -> str:
    return paths.model(WEIGHTS, model.section, model.name)


def _unit(row: Row) -> str:
    return f" {row['unit']}" if row["unit"] else ""


def _shown(value: str) -> str:
    """Return a setting without the folders of absolute paths: a card keeps only the names of local files."""
    return re.sub(r"(?<![\w.~:/-])/(?:[^/'\",\[\]]+/)*(?=[^/'\",\[\]])", "", value)


def _pairs(heading: str, values: Mapping[str, str]) -> list[str]:
    return _table([heading, "value"], [False, False], [[key, value] for key, value in values.items()])


def _table(headings: Sequence[str], numeric: Sequence[bool], rows: Iterable[Sequence[str]]) -> list[str]:
    return markdown_rows(headings, numeric, [[escape_markdown(cell) for cell in row] for row in rows])
