"""What modules declare (captionlab.declarations), without importing them: families of models, readers, rewards.

Here are their parts of the schema, and what the graph asks of them: modules for fingerprints, libraries for versions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from captionlab.declarations import CaptionerFamily, CorpusReader, EncoderFamily, RewardKind, ScorerFamily, declared
from captionlab.workflow.blocks import Block

# The key of a reward that names the model which it asks.
_ASKED: dict[str, Block] = {
    "nothing": {},
    "retriever": {
        "retriever": {
            "names": "encoders",
            "able": "texts",
            "reason": "which has no text side",
            "description": "encoder that looks for the image of a caption",
        }
    },
    "scorer": {"scorer": {"names": "scorers", "description": "scores a caption with its image"}},
}
# The keys of a captioner's block that say what it reads of images.
READS = {
    "vector": ("encoder",),
    "patches": ("encoder",),
    "regions": ("regions",),
    "tagged-regions": ("regions", "tags"),
}
_ENCODERS = {
    "vector": {"refuses": "patches_of", "reason": "one vector; name an encoder without"},
    "patches": {"accepts": "patches_of", "reason": "a grid; name an encoder with"},
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


def readers() -> Mapping[str, CorpusReader]:
    """The readers of published corpora, by name."""
    return declared("corpora.readers", CorpusReader, "read")


def rewards() -> Mapping[str, RewardKind]:
    """The kinds of rewards, by name."""
    return declared("training.rewards", RewardKind, "build")


def rewards_in(reward: Mapping[str, Any], where: str = "reward") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A reward and those that it is made of, each with its place in the config."""
    yield where, reward
    for number, part in enumerate(reward["of"] if rewards()[reward["kind"]].of else []):
        weighed = "reward" in part
        yield from rewards_in(part["reward"] if weighed else part, f"{where}.of.{number}" + ".reward" * weighed)


def attends_to_tags(captioner: str) -> bool:
    """Whether a family of captioners is one whose attention to tags can be extracted; not where it has no weights."""
    return captioner in captioners() and captioners()[captioner].attention


def a_family(names: Iterable[str]) -> str:
    """One of these families, for a sentence."""
    return " or ".join(f"a {name}" for name in names)


def declared_cases() -> dict[str, Block]:
    """For unions of the schema, by name, the cases that modules declare. Each extends a part that all have in common.

    A way to come about that a family does not have is checked as the one that it has.
    """
    cases: dict[str, Block] = {"corpus": {}, "reward": {}, "captioner_imported": {}, "captioner_made": {}}
    cases |= {f"{kind}_{way}": {} for kind in ("encoder", "scorer") for way in ("imported", "trained")}
    for name, reader in readers().items():
        cases["corpus"][name] = _part("corpus_files", reader.keys, reader.required)
    for name, reward in rewards().items():
        asked = _ASKED[reward.asks]
        cases["reward"][name] = {"properties": {**reward.keys, **asked}, "required": [*reward.required, *asked]}
    for name, captioner in captioners().items():
        read = _read(name, captioner.reads)
        imported = {
            **_part("any_captioner_imported", {**read["properties"], **captioner.imported}),
            "rules": read["rules"],
        }
        trained = _part("any_captioner_trained", {**read["properties"], **_architecture(captioner.architecture)})
        cases["captioner_imported"][name] = imported
        cases["captioner_made"][name] = (
            {**trained, "rules": read["rules"]} if captioner.architecture else _untrained(imported)
        )
    for name, encoder in encoders().items():
        files = {key: {"$ref": "#/$defs/path"} for key in encoder.files if key != "weights"}
        imported = _part("any_encoder_imported", {**files, **encoder.imported}, files)
        trained = _part("any_encoder_trained", _architecture(encoder.architecture))
        cases["encoder_imported"][name] = imported
        cases["encoder_trained"][name] = trained if encoder.architecture else _untrained(imported)
    adopted = {name for name, scorer in scorers().items() if scorer.reads == "embeddings"}
    cases["scorer_adopted"] = {name: _part("any_scorer_adopted", scorers()[name].imported) for name in adopted}
    for name, scorer in scorers().items():
        reads = {"regions": {"names": "regions", "description": "what it reads"}} if scorer.reads == "regions" else {}
        imported = _part("any_scorer_imported", {**reads, **scorer.imported}, reads)
        trained = _part("any_scorer_trained", {**reads, **_architecture(scorer.architecture)}, reads)
        cases["scorer_imported"] |= {} if name in adopted else {name: imported}
        untrained = _untrained(cases["scorer_adopted"].get(name, imported))
        cases["scorer_trained"][name] = trained if scorer.architecture else untrained
    return cases


def _read(family: str, reads: str) -> Block:
    """The keys of a captioner that say what it reads of images, and rules about them."""
    needed, others = READS[reads], {key for keys in READS.values() for key in keys} - {*READS[reads]}
    said = f"{{place}}: a {family} reads {' and '.join(needed)} of images"
    rules = [
        {"needs": [*needed], "sentence": f"{said}, so it needs {{keys}}"},
        {"forbids": sorted(others), "sentence": f"{said}, not {{keys}}"},
    ]
    if reads not in _ENCODERS:
        return {"properties": {}, "rules": rules}
    wanted = {"names": "encoders", "description": "what it reads of images", **_ENCODERS[reads]}
    wanted["reason"] = f"is {{name}}, and {family} reads of each image {wanted['reason']} `patches_of`"
    return {"properties": {"encoder": wanted}, "rules": rules}


def _untrained(part: Block) -> Block:
    """The part of a family that cannot be trained here, in place of one that can: it says which keys there are."""
    return {**part, "untrained": True}


def _architecture(sizes: Mapping[str, Any]) -> Block:
    """The key `architecture` of what is trained here."""
    required = [key for key, part in sizes.items() if "default" not in part]
    return {"architecture": {"required": required, "properties": dict(sizes)}}


def _part(base: str, keys: Mapping[str, Any], required: Iterable[str] = ()) -> Block:
    """A part that adds keys, some of them required, to another one."""
    return {"extends": base, "required": [*required], "properties": dict(keys)}
