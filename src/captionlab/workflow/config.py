"""The config, checked before the DAG is built: each mistake is one sentence that says where and what to write."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

Block = dict[str, Any]


class ConfigError(ValueError):
    """The config asks for something that cannot be done."""


def captioner_kind(block: Mapping[str, Any]) -> str:
    """How a captioner comes about: file, human, finetuned, imported or pretrained."""
    if block.get("family") in ("file", "human"):
        return str(block["family"])
    if "parent" in block:
        return "finetuned"
    return "imported" if "weights" in block else "pretrained"


def validate_config(config: Block, schema_path: Path) -> None:
    """Raise a ConfigError that lists every mistake, one sentence each."""
    schema = yaml.safe_load(schema_path.read_text(encoding="utf-8"))
    mistakes = list(_schema_mistakes(config, schema)) or list(_reference_mistakes(config))
    if mistakes:
        raise ConfigError("the config cannot be run:\n" + "\n".join(f"  - {m}" for m in mistakes))


def root_of(config: Block, captioner: str) -> str:
    """The captioner at the top of a line of parents."""
    while "parent" in config["captioners"][captioner]:
        captioner = config["captioners"][captioner]["parent"]
    return captioner


def _schema_mistakes(config: Block, schema: Block) -> Iterator[str]:
    yield from _validate(config, schema, schema, ())
    for name, corpus in _mapping(config, "corpora"):
        reader = corpus.get("reader")
        if isinstance(reader, str) and f"corpus_{reader}" in schema["$defs"]:
            yield from _validate(corpus, schema["$defs"][f"corpus_{reader}"], schema, ("corpora", name))
    for name, captioner in _mapping(config, "captioners"):
        part = schema["$defs"][f"captioner_{captioner_kind(captioner)}"]
        yield from _validate(captioner, part, schema, ("captioners", name))


def _mapping(config: Block, section: str) -> Iterator[tuple[str, Block]]:
    blocks = config.get(section) or {}
    if isinstance(blocks, dict):
        yield from ((name, block) for name, block in blocks.items() if isinstance(block, dict))


def _validate(value: Any, part: Block, schema: Block, where: tuple[str, ...]) -> Iterator[str]:
    validator = Draft202012Validator({"$defs": schema["$defs"], **part})
    for error in sorted(validator.iter_errors(value), key=lambda e: [str(p) for p in e.absolute_path]):
        yield from _sentences(error, where)


def _sentences(error: ValidationError, where: tuple[str, ...]) -> Iterator[str]:
    place = ".".join([*where, *map(str, error.absolute_path)]) or "the top level"
    if error.validator in ("additionalProperties", "unevaluatedProperties") and isinstance(error.instance, dict):
        known = _known_keys(error)
        for key in sorted(set(error.instance) - known):
            close = difflib.get_close_matches(str(key), sorted(known), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(sorted(known))}"
            yield f"{place} has no key {key!r}; {hint}"
    elif error.validator == "type" and error.validator_value == "number" and isinstance(error.instance, str):
        yield f"{place} must be a number; YAML reads {error.instance!r} as text, write it with a point, as 1.0e-4"
    elif error.validator == "enum":
        close = difflib.get_close_matches(str(error.instance), [str(v) for v in error.validator_value], n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        yield f"{place} is {error.instance!r}; it must be one of {', '.join(map(str, error.validator_value))}.{hint}"
    elif error.validator == "required":
        missing = next(k for k in error.validator_value if k not in error.instance)
        yield f"{place} lacks the key {missing!r}"
    elif error.validator == "oneOf":
        yield f"{place} must have exactly one of the keys epochs and steps"
    else:
        yield f"{place}: {error.message}"


def _known_keys(error: ValidationError) -> set[str]:
    part = error.schema
    known = set(part.get("properties", {}))
    if "$ref" in part and error._resolver is None:  # the base of the readers' keys
        known |= {"reader", "annotations", "images", "max_rejected", "evaluation_split", "shards"}
    return known


def _reference_mistakes(config: Block) -> Iterator[str]:
    corpora, encoders = config["corpora"], config.get("encoders", {})
    captioners, decodings = config["captioners"], config.get("decodings", {})

    def known(name: str, section: str, names: Mapping[str, Any], where: str) -> Iterator[str]:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names) or 'none'}"
            yield f"{where} is {name!r}, which is not among the {section}; {hint}"

    for name, corpus in corpora.items():
        split = corpus.get("evaluation_split", "test")
        if corpus["reader"] == "toyworld":
            if split not in corpus["images"]:
                yield f"corpora.{name}: evaluations use the split {split!r}, but images names {', '.join(corpus['images'])}"
            yield from _domain_mistakes(name, corpus["domain"])
    for name, encoder in encoders.items():
        if "weights" in encoder:
            if "corpus" in encoder or "architecture" in encoder:
                yield f"encoders.{name} has weights, so it is not trained here: drop corpus, architecture and optimizer"
        else:
            if missing := [k for k in ("architecture", "corpus", "optimizer") if k not in encoder]:
                yield f"encoders.{name} has no weights, so it is trained here and needs {', '.join(missing)}"
            yield from known(encoder.get("corpus", next(iter(corpora))), "corpora", corpora, f"encoders.{name}.corpus")
    broken = set()
    for name, block in captioners.items():
        if "parent" in block:
            problems = list(_parent_mistakes(name, captioners, known))
            if problems:
                broken.add(name)
            yield from problems
        if "corpus" in block:
            yield from known(block["corpus"], "corpora", corpora, f"captioners.{name}.corpus")
        if "encoder" in block:
            yield from known(block["encoder"], "encoders", encoders, f"captioners.{name}.encoder")
        for corpus in block.get("captions", {}):
            yield from known(corpus, "corpora", corpora, f"captioners.{name}.captions.{corpus}")
        if block.get("objective", {}).get("kind") == "reinforce":
            yield from _reinforce_mistakes(name, block, encoders, decodings, known)
    for name, evaluation in config["evaluations"].items():
        where = f"evaluations.{name}"
        for captioner in evaluation["captioners"]:
            yield from known(captioner, "captioners", captioners, f"{where}.captioners")
        for corpus in evaluation["corpora"]:
            yield from known(corpus, "corpora", corpora, f"{where}.corpora")
            if corpus in corpora and corpora[corpus].get("images", "") is None:
                needy = [c for c in evaluation["captioners"] if captioner_kind(captioners.get(c, {"family": "file"})) not in ("file", "human")]
                if needy or evaluation.get("retrievers"):
                    yield f"{where}: the corpus {corpus!r} has no images (images: null), so it cannot be captioned or retrieved from"
        for retriever in evaluation.get("retrievers", []):
            yield from known(retriever, "encoders", encoders, f"{where}.retrievers")
        yield from known(evaluation["decoding"], "decodings", decodings, f"{where}.decoding")
        for captioner in evaluation["captioners"]:
            captions = captioners.get(captioner, {}).get("captions")
            if captions is not None and (without := [c for c in evaluation["corpora"] if c not in captions]):
                yield f"{where}: the captioner {captioner!r} brings no captions for {', '.join(without)}; add captioners.{captioner}.captions.{without[0]}"
    yield from _repeated_evaluations(config["evaluations"])
    evaluated = {c for e in config["evaluations"].values() for c in e["captioners"]}
    for paper, block in config.get("papers", {}).items():
        for label, name in block["captioners"].items():
            yield from known(name, "captioners", captioners, f"papers.{paper}.captioners.{label}")
            if name in captioners and name not in evaluated:
                yield f"papers.{paper}.captioners.{label} is {name!r}, which no evaluation names"
        for label, name in block["corpora"].items():
            yield from known(name, "corpora", corpora, f"papers.{paper}.corpora.{label}")
        for name in block.get("retrievers", []):
            yield from known(name, "encoders", encoders, f"papers.{paper}.retrievers")


def _domain_mistakes(name: str, domain: str) -> Iterator[str]:
    from captionlab.corpora.toyworld.domains import DOMAINS

    if domain not in DOMAINS:
        close = difflib.get_close_matches(domain, DOMAINS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(DOMAINS)}"
        yield f"corpora.{name}.domain is {domain!r}, which the toy world does not have; {hint}"


def _parent_mistakes(name: str, captioners: Block, known: Any) -> Iterator[str]:
    seen = [name]
    while "parent" in captioners[seen[-1]]:
        parent = captioners[seen[-1]]["parent"]
        if parent not in captioners:
            if len(seen) == 1:
                yield from known(parent, "captioners", captioners, f"captioners.{name}.parent")
            return
        if parent in seen:
            yield f"captioners.{name} is its own ancestor: {' -> '.join([*seen, parent])}; one of them needs a family"
            return
        seen.append(parent)
    if captioner_kind(captioners[seen[-1]]) in ("file", "human"):
        yield f"captioners.{name} cannot be finetuned: {seen[-1]!r} is a {captioners[seen[-1]]['family']} captioner without weights"


def _reinforce_mistakes(name: str, block: Block, encoders: Block, decodings: Block, known: Any) -> Iterator[str]:
    where, reward = f"captioners.{name}.objective", block["objective"]["reward"]
    yield from known(reward["retriever"], "encoders", encoders, f"{where}.reward.retriever")
    yield from known(block["objective"]["decoding"], "decodings", decodings, f"{where}.decoding")
    batch, candidates = block["optimizer"]["batch"], reward["candidates"]
    if batch < candidates or batch % candidates:
        what = "smaller than" if batch < candidates else "no multiple of"
        yield (
            f"captioners.{name}: distractors come from the batch, and a batch of {batch} is {what} {candidates} candidates; "
            f"write `optimizer: {{batch: {max(1, batch // candidates) * candidates}}}` or `reward: {{candidates: {batch}}}`"
        )


def _repeated_evaluations(evaluations: Block) -> Iterator[str]:
    seen: dict[tuple[str, str, str], str] = {}
    for name, evaluation in evaluations.items():
        for captioner in evaluation["captioners"]:
            for corpus in evaluation["corpora"]:
                key = (captioner, corpus, evaluation["decoding"])
                if key in seen:
                    yield f"evaluations.{seen[key]} and evaluations.{name} both caption {corpus!r} with {captioner!r} by {key[2]!r}; name it in one"
                seen[key] = name
