"""What modules declare (captionlab.declarations), without importing them: families of models, readers, rewards.

Here are their parts of the schema, and what the graph asks of them: modules for fingerprints, libraries for versions.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from captionlab.declarations import (
    ROOT,
    CaptionerFamily,
    CorpusReader,
    DeclarationError,
    EncoderFamily,
    JudgementReader,
    RewardKind,
    ScorerFamily,
    ScoreTable,
    declared,
)
from captionlab.workflow.blocks import Block, has_captions

# What modules of a package declare, by name.
captioners: Callable[[], Mapping[str, CaptionerFamily]] = partial(declared, "captioners", CaptionerFamily)
encoders: Callable[[], Mapping[str, EncoderFamily]] = partial(
    declared, "encoders", EncoderFamily, "FAMILY", "import_weights", "stated"
)
scorers: Callable[[], Mapping[str, ScorerFamily]] = partial(declared, "scorers", ScorerFamily)
readers: Callable[[], Mapping[str, CorpusReader]] = partial(declared, "corpora.readers", CorpusReader, "read")
judgement_readers: Callable[[], Mapping[str, JudgementReader]] = partial(
    declared, "judgements.readers", JudgementReader, "read"
)
rewards: Callable[[], Mapping[str, RewardKind]] = partial(declared, "training.rewards", RewardKind, "build")
DECLARED: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "captioners": captioners,
    "encoders": encoders,
    "scorers": scorers,
    "corpora.readers": readers,
    "judgements.readers": judgement_readers,
    "training.rewards": rewards,
}


def score_tables() -> Mapping[str, ScoreTable]:
    """The tables of scores of captions, by name, in their order."""
    found = declared("evaluation.metrics", ScoreTable, "results")
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def asked_tables(config: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, ScoreTable]:
    """Those that an evaluation of a config asks for; without captions in any of its corpora none of references."""
    off = ("off", False)  # YAML reads a bare off as false
    tables = {name: table for name, table in score_tables().items() if config.get(table.switch) not in off}
    if not any(has_captions(config["corpora"][corpus]) for corpus in evaluation["corpora"]):
        tables = {name: table for name, table in tables.items() if not table.references}
    return {name: t for name, t in tables.items() if not t.asks or any(evaluation.get(key) for key in t.asks)}


def rewards_in(reward: Mapping[str, Any], where: str = "reward") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A reward and those that it is made of, each with its place in the config."""
    yield where, reward
    for number, part in enumerate(reward["of"] if rewards()[reward["kind"]].of else []):
        if "reward" in part:  # beside its weight
            yield from rewards_in(part["reward"], f"{where}.of.{number}.reward")
        else:
            yield from rewards_in(part, f"{where}.of.{number}")


def a_family(names: Iterable[str]) -> str:
    """One of these families, for a sentence."""
    return " or ".join(f"a {name}" for name in names)


def declared_cases(sizes: Mapping[str, Any]) -> dict[str, Block]:
    """For unions of the schema, by name, the cases that modules declare. Each extends parts that others extend too.

    A family that cannot be trained here is checked as one that is imported, or adopted, which says which keys it has.
    `sizes` are the keys of `architecture` of every scorer that can. DeclarationError for a family that says that it can
    and cannot.
    """
    unions = ["captioner_imported", "captioner_made", "encoder_imported", "encoder_trained", "scorer_imported"]
    unions += ["scorer_trained", "scorer_adopted", "captioner_reused", "encoder_reused", "scorer_reused"]
    cases: dict[str, Block] = {union: {} for union in ("corpus", "judgements", "reward", *unions)}
    for name, reader in readers().items():
        cases["corpus"][name] = _part("corpus_files", keys=reader.keys, required=reader.required)
    for name, judged in judgement_readers().items():
        cases["judgements"][name] = _part("any_judgements", keys=judged.keys, required=judged.required)
    for name, reward in rewards().items():
        cases["reward"][name] = _part(f"asks_{reward.asks}", keys=reward.keys, required=reward.required)
    for name, captioner in captioners().items():
        reads = f"captioner_reads_{captioner.reads}"
        forms = ["any_captioner_imported", *([] if captioner.folder else ["captioner_of_files"])]
        cases["captioner_imported"][name] = given = _part(*forms, reads, keys=captioner.imported)
        cases["captioner_reused"][name] = _part("any_captioner_reused", reads, keys={})
        cases["captioner_made"][name] = _trained(given, captioner.architecture, "any_captioner_trained", reads)
    for name, encoder in encoders().items():
        if encoder.architecture and name != "clip":
            raise DeclarationError(f"encoders/{name}: rule train_encoder trains a clip alone; write architecture={{}}")
        files = {key: {"$ref": "#/$defs/path"} for key in encoder.files if key != "weights"}
        given = _part("any_encoder_imported", keys={**files, **encoder.imported}, required=files)
        cases["encoder_imported"][name] = given
        cases["encoder_reused"][name] = _part("any_encoder_reused", keys={})
        cases["encoder_trained"][name] = _trained(given, encoder.architecture, "any_encoder_trained")
    for name, scorer in scorers().items():
        if scorer.architecture and scorer.reads != "regions":
            raise DeclarationError(f"scorers/{name}: only what reads regions is trained here; write architecture={{}}")
        way, reads = "adopted" if scorer.reads == "embeddings" else "imported", f"scorer_reads_{scorer.reads}"
        if scorer.reads != "embeddings":
            cases["scorer_reused"][name] = _part("any_scorer_reused", reads, keys={})
        cases[f"scorer_{way}"][name] = given = _part(f"any_scorer_{way}", reads, keys=scorer.imported)
        own = scorer.architecture and {**sizes, **scorer.architecture}
        cases["scorer_trained"][name] = _trained(given, own, "any_scorer_trained", reads)
    return cases


def _part(*bases: str, keys: Mapping[str, Any], required: Iterable[str] = ()) -> Block:
    """A part that adds keys, some of them required, to others."""
    return {"extends": [*bases], "required": [*required], "properties": dict(keys)}


def _trained(given: Block, sizes: Mapping[str, Any], *bases: str) -> Block:
    """The part of what is trained here with an architecture of these keys; where there are none, it stands for that."""
    required = [key for key, part in sizes.items() if "default" not in part]
    architecture = {"architecture": {"required": required, "properties": dict(sizes)}}
    return _part(*bases, keys=architecture) if sizes else {**given, "untrained": True}


@cache
def headline(package: str, name: str) -> str:
    """What a module of a package says of itself in the first line of its docstring."""
    source = ROOT.joinpath(*package.split("."), f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
