"""Model card of a model that a run trained, in the layout of model hubs.

A card has only what the run knows: its config, the provenance of its jobs, and its tables. Anything else is called
unknown.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from captionlab.reporting.claims.validity import CONDITIONS
from captionlab.reporting.documents.card_results import Results
from captionlab.reporting.documents.costs import clock
from captionlab.reporting.documents.facts import Counts, Trained, Validated, many
from captionlab.reporting.documents.passages import Passage
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.formats.markdown import escape_markdown
from captionlab.reporting.tables.parameters import flat_parameters
from captionlab.reporting.templates import template
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
LOAD = {
    "captioners": "captioner, tokenizer = load_captioner",
    "encoders": "encoder = load_encoder",
    "scorers": "scorer = load_scorer",
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
    caveats: Sequence[str] = ()  # caveats on all numbers of the run


def card_text(model: Trained, context: Context) -> str:
    """Return the model card: YAML metadata between two lines of ---, then Markdown."""
    described, made = model.described, model.made
    versions = (f"{name} {version}" for name, version in made["params"].get("versions", {}).items())
    return template("model_card.md.jinja", md=escape_markdown, many=many, clock=clock).render(
        model=model,
        described=described,
        made=made,
        metadata=metadata(model, context).to_yaml(),
        kind=KINDS[model.section],
        reads=READS[described["reads"]],
        toy=bool(_toy_tag(model, context)),
        toy_limits=TOY,
        unknown=UNKNOWN,
        weights=WEIGHTS,
        language=LANGUAGE,
        link=partial(_link, model, context),
        sizes=_pairs("size", flat_parameters({**model.config.get("architecture", {}), **model.config.get("lora", {})})),
        data=_data(model, context),
        passed=_passed(model),
        other_seeds=[name for name in described["trainings"] if name != model.name],
        validation=validation_text(model.validated),
        versions=", ".join(versions),
        file=paths.model(WEIGHTS, model.section, model.name),
        settings=_settings(model),
        results=context.results.passages(model),
        limits=_limits(model, context),
        load=LOAD[model.section],
        export=paths.export(model.name),
        software=context.software,
        citations=context.papers,
    )


def metadata(model: Trained, context: Context) -> Any:
    """Return the metadata that hubs read from a card (huggingface_hub's ModelCardData), without unknown keys."""
    from huggingface_hub import ModelCardData

    measured = context.results.for_hubs(model, TASKS.get(model.section, "image-text-matching"))
    results = [] if context.caveats else measured  # hubs would show the numbers without the caveats
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


# ------------------------------------------------------------------------------------------------- parts of the text
def _data(model: Trained, context: Context) -> Passage:
    """Return a table of the corpora that a model and its ancestors were trained on."""
    rows = []
    for ancestor in model.described["line"]:
        if corpus := ancestor["corpus"]:
            counts, known = context.counts[corpus], context.corpora[corpus]
            of_split = (many(counted.get("train", 0)) for counted in (counts.images, counts.captions))
            rejected = many(sum(counts.rejects.values()))
            rows.append([ancestor["name"], f"{corpus}, train", *of_split, rejected, licences(known)])
    headings = ["model", "corpus and split", "images", "captions", "left out of the corpus", "licence of the data"]
    return Passage("", headings, rows, headings[2:5])


def licences(corpus: Row) -> str:
    """Return the licences of a corpus, each with the part of the data that it covers, as in the table of sources."""
    if corpus["toy"]:
        return "made by captionlab from its own drawings and words"
    found = [f"{source['what']}: {source['licence']}" for source in corpus["sources"]]
    return "; ".join(found) or f"{UNKNOWN}: resources/sources.yaml knows none of its files"


def _passed(model: Trained) -> str:
    """Return the time of a snapshot in its training, in words; empty for any other model."""
    if not model.described["snapshot_of"]:
        return ""
    snapshot = model.config["origin"]["snapshot"]
    return f"epoch {snapshot['epochs']}" if "epochs" in snapshot else f"update {many(snapshot['updates'])}"


def _settings(model: Trained) -> Passage:
    """Return a table of the settings of the training, architecture aside."""
    settings = flat_parameters(model.made["params"]["config"]).items()
    return _pairs("setting", {key: _shown(value) for key, value in settings if not key.startswith("architecture.")})


def validation_text(found: Validated | None) -> str:
    """Return the validation result of a training in words."""
    if found is None:
        return "none; the last weights count"
    which = "the weights that did best" if found.chosen else "the last weights count, whatever it says"
    return f"{found.measure} {found.value:.3f} after {many(found.step)} updates; {which}"


def _limits(model: Trained, context: Context) -> list[str]:
    lines = [f"Of all numbers on this card: {caveat}." for caveat in context.caveats]
    lines += [TOY] if _toy_tag(model, context) else []
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
    return lines


def _toy_tag(model: Trained, context: Context) -> list[str]:
    return ["toy"] if any(context.corpora[corpus]["toy"] for corpus in model.corpora) else []


def _link(model: Trained, context: Context, section: str, name: str | None) -> str:
    """Return the name of a model, with a link to its card if it has one. A card does not link to itself."""
    if (section, name) not in context.carded or (section, name) == (model.section, model.name):
        return escape_markdown(str(name))
    folder = f"../{name}" if section == model.section else f"../../{section}/{name}"
    return f"[{escape_markdown(str(name))}]({folder}/{paths.CARD})"


def _unit(row: Row) -> str:
    return f" {row['unit']}" if row["unit"] else ""


def _shown(value: str) -> str:
    """Return a setting without the folders of absolute paths: a card keeps only the names of local files."""
    return re.sub(r"(?<![\w.~:/-])/(?:[^/'\",\[\]]+/)*(?=[^/'\",\[\]])", "", value)


def _pairs(heading: str, values: Mapping[str, str]) -> Passage:
    return Passage("", [heading, "value"], [*values.items()])
