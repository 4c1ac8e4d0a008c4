"""The families of models as their modules declare them (captionlab.declarations), without importing these modules.

Here is their part of the schema, and what the graph asks of them: modules for fingerprints, libraries for versions.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from captionlab.declarations import CaptionerFamily, EncoderFamily, ScorerFamily, ScoreTable, declared
from captionlab.workflow.blocks import Block

# The keys of a captioner's block that say what it reads of images.
READS = {
    "vector": ("encoder",),
    "patches": ("encoder",),
    "regions": ("regions",),
    "tagged-regions": ("regions", "tags"),
}


def captioners() -> Mapping[str, CaptionerFamily]:
    """The families of captioners, by name."""
    return declared("captioners", CaptionerFamily)


def encoders() -> Mapping[str, EncoderFamily]:
    """The families of encoders, by name."""
    return declared("encoders", EncoderFamily)


def scorers() -> Mapping[str, ScorerFamily]:
    """The families of scorers, by name."""
    return declared("scorers", ScorerFamily)


def score_tables() -> Mapping[str, ScoreTable]:
    """The tables of scores of captions, by name, in their order."""
    found = declared("evaluation.metrics", ScoreTable, "results")
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def attends_to_tags(captioner: str) -> bool:
    """Whether a family of captioners is one whose attention to tags can be extracted; not where it has no weights."""
    return captioner in captioners() and captioners()[captioner].attention


def modules(package: str, families: Iterable[str]) -> list[str]:
    """The modules that scripts load by the names of these families, for fingerprints of code."""
    return sorted({f"captionlab.{package}.{family}" for family in families})


def family_parts() -> Block:
    """What the schema says of each family, by the names of its definitions: `captioner_imported_<family>` and such.

    Each extends the definition without a family. A way to come about that a family does not have is checked as the one
    that it has. `captioner_family`, `encoder_family` and `scorer_family` are the names that there are.
    """
    parts: Block = {}
    for kind, families in (("captioner", captioners()), ("encoder", encoders()), ("scorer", scorers())):
        parts[f"{kind}_family"] = {"enum": sorted(families)}
    for name, captioner in captioners().items():
        parts[f"captioner_imported_{name}"] = imported = _part("captioner_imported", captioner.imported)
        parts[f"captioner_pretrained_{name}"] = _trained("captioner_pretrained", captioner.architecture) or imported
    for name, encoder in encoders().items():
        files = {key: {"$ref": "#/$defs/path"} for key in encoder.files}
        parts[f"encoder_imported_{name}"] = imported = _part("encoder_imported", {**files, **encoder.imported}, files)
        parts[f"encoder_trained_{name}"] = _trained("encoder_trained", encoder.architecture) or imported
    for name, scorer in scorers().items():
        reads = {"regions": {"type": "string", "description": "what it reads"}} if scorer.reads == "regions" else {}
        way = "scorer_encoder" if scorer.reads == "embeddings" else "scorer_imported"
        imported = _part(way, {**reads, **scorer.imported}, reads)
        parts |= dict.fromkeys((f"scorer_encoder_{name}", f"scorer_imported_{name}"), imported)
        parts[f"scorer_trained_{name}"] = _trained("scorer_trained", scorer.architecture, reads) or imported
    return parts


def _trained(base: str, architecture: Mapping[str, Any], reads: Block | None = None) -> Block:
    """The definition of what is trained here, with this architecture; nothing where there is none."""
    if not architecture:
        return {}
    sizes = {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key, part in architecture.items() if "default" not in part],
        "properties": dict(architecture),
    }
    return _part(base, {**(reads or {}), "architecture": sizes}, reads or {})


def _part(base: str, keys: Mapping[str, Any], required: Iterable[str] = ()) -> Block:
    """A definition that adds keys, some of them required, to another one. A key may name others that it `x-needs`."""
    return {
        "$ref": f"#/$defs/{base}",
        "unevaluatedProperties": False,
        "required": list(required),
        "properties": dict(keys),
        "dependentRequired": {key: part["x-needs"] for key, part in keys.items() if "x-needs" in part},
    }
