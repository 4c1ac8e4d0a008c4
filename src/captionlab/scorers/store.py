"""Scorers on disk: config.json, model.safetensors and, of all but encoders, vocab.txt in a folder.

A family is a module of this package, loaded by its name. It sets FAMILY to its network, a torch module with `family`
(its name), `architecture` (the arguments that build it again), `MATCHING` (its authors' way to make a score),
`reads` (regions or pixels), `encode_image`, `logits` and `from_published`. A family that is no such network sets it to
a scorer that can `save` and `load` itself.
"""

import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from captionlab.files import replacing
from captionlab.networks.checkpoints import CheckpointError, read_checkpoint
from captionlab.networks.wordpiece import WordPieces, learn_pieces
from captionlab.scorers.matching import Matching
from captionlab.scorers.scorer import ImageTextScorer, Scorer

FILES = ("config.json", "model.safetensors", "vocab.txt")


class ScorerError(ValueError):
    """Files or settings do not make the scorer that they should make."""


def family_class(family: str) -> Any:
    """The network class of a family."""
    return importlib.import_module(f"captionlab.scorers.{family}").FAMILY


def build_scorer(
    config: Mapping[str, Any], vocabulary: str | os.PathLike[str], region_size: int, device: str | torch.device = "cpu"
) -> Scorer:
    """A scorer with random weights, to be trained, for regions with `region_size` numbers.

    `config` is its block of the config: `family`, `architecture` (all sizes but those of vocabulary, regions and head),
    and perhaps settings of `Matching`. A ScorerError says what does not fit.
    """
    matching = _matching(family_class(config["family"]), config)
    try:
        return _build(config, config["architecture"], _words(vocabulary, matching), matching, region_size).to(device)
    except (TypeError, ValueError) as error:
        raise ScorerError(f"no {config['family']} scorer can be built from this config: {error}") from error


def new_scorer(
    config: Mapping[str, Any], texts: Iterable[str], region_size: int, device: str | torch.device = "cpu"
) -> Scorer:
    """The same, with word pieces learnt from texts: `architecture` also says how many there may be, `vocabulary`.

    It reads texts as long as it has positions, unless `max_tokens` says otherwise.
    """
    sizes = dict(config["architecture"])
    count = sizes.pop("vocabulary")
    matching = _matching(family_class(config["family"]), {"max_tokens": sizes["positions"], **config})
    try:
        pieces = learn_pieces(texts, count, matching.lowercase, matching.strip_punctuation)
        words = WordPieces(pieces, matching.lowercase, matching.strip_punctuation)
        return _build(config, sizes, words, matching, region_size).to(device)
    except (TypeError, ValueError) as error:
        raise ScorerError(f"no {config['family']} scorer can be built from this config: {error}") from error


def _build(
    config: Mapping[str, Any], sizes: Mapping[str, Any], words: WordPieces, matching: Matching, region_size: int
) -> Scorer:
    given = {"vocabulary": len(words.pieces), "region_size": region_size, "outputs": matching.outputs}
    return Scorer(family_class(config["family"])(**sizes, **given), words, matching)


def import_scorer(
    config: Mapping[str, Any],
    weights: str | os.PathLike[str],
    vocabulary: str | os.PathLike[str],
    directory: str | os.PathLike[str],
) -> None:
    """Store a scorer whose weights were published as a PyTorch or safetensors file; sizes are read off the weights.

    `config` is its block of the config: `family`, perhaps settings of `Matching`, and perhaps what cannot be read off
    the weights, as `heads` (`from_published` of the family says what there is). A ScorerError says what does not fit.
    """
    family = family_class(config["family"])
    matching = _matching(family, config)
    checkpoint = _read(weights)
    known = {"family", "regions", "weights", "vocabulary", *(field.name for field in fields(Matching))}
    options = {name: value for name, value in config.items() if name not in known}
    try:
        with torch.device("meta"):
            network, state = family.from_published(checkpoint, head=matching.head, **options)
        scorer = Scorer(network, _words(vocabulary, matching, getattr(family, "ADDED", ())), matching)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        reason = f"it has no tensor {error}" if isinstance(error, KeyError) else str(error)
        shown = ", ".join(list(checkpoint)[:5])
        raise ScorerError(
            f"{weights} with {vocabulary} makes no {config['family']} scorer: {reason}. The first of the "
            f"{len(checkpoint)} names in the weights are {shown}"
        ) from error
    _load_weights(scorer, state, weights)
    with open(weights, "rb") as file:
        origin = {"weights": Path(weights).name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    save_scorer(scorer, directory, origin)


def save_scorer(scorer: Scorer, directory: str | os.PathLike[str], origin: Mapping[str, Any] | None = None) -> None:
    """Write the three files of a scorer; `origin` is what config.json shall say about where it comes from."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    network = scorer.network
    config = {
        "family": network.family,
        "architecture": network.architecture,
        "matching": asdict(scorer.matching),
        "origin": dict(origin or {}),
    }
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    weights = {name: value.cpu().contiguous() for name, value in network.state_dict().items()}
    with replacing(directory / FILES[0]) as path:
        path.write_text(text, encoding="utf-8")
    with replacing(directory / FILES[1]) as path:
        save_file(weights, path)
    with replacing(directory / FILES[2]) as path:
        scorer.words.save(path)


def load_scorer(directory: str | os.PathLike[str], device: str | torch.device = "cpu") -> ImageTextScorer:
    """Read a scorer of any family, frozen and in evaluation mode; a ScorerError names the file that does not fit."""
    config, weights, vocabulary = (Path(directory) / name for name in FILES)
    try:
        described = json.loads(config.read_text(encoding="utf-8"))
        family = family_class(described.get("scorer", described["family"]))
        if hasattr(family, "load"):
            loaded: ImageTextScorer = family.load(directory, device)
            return loaded
        matching = Matching(**described["matching"])
        with torch.device("meta"):
            network = family(**described["architecture"])
        scorer = Scorer(network, _words(vocabulary, matching), matching)
    except (OSError, ValueError, KeyError, TypeError, ImportError, AttributeError) as error:
        raise ScorerError(f"{config} does not describe a scorer: {error!r}; make the scorer again") from error
    _load_weights(scorer, _read(weights), weights)
    return scorer.to(device).requires_grad_(False).eval()


def _matching(family: Any, config: Mapping[str, Any]) -> Matching:
    """The settings of a family with those that the config gives."""
    given = {field.name: config[field.name] for field in fields(Matching) if field.name in config}
    try:
        settings: Matching = replace(family.MATCHING, **given)
    except ValueError as error:
        raise ScorerError(str(error)) from error
    return settings


def _words(vocabulary: str | os.PathLike[str], matching: Matching, added: Sequence[str] = ()) -> WordPieces:
    """The word pieces of a file, and what a family adds to them."""
    words = WordPieces.load(vocabulary, matching.lowercase, matching.strip_punctuation)
    if not (missing := [piece for piece in added if piece not in words.pieces]):
        return words
    return WordPieces([*words.pieces, *missing], matching.lowercase, matching.strip_punctuation)


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        return read_checkpoint(path)
    except (CheckpointError, OSError) as error:
        raise ScorerError(str(error)) from error


def _load_weights(scorer: Scorer, weights: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Put these tensors, in single precision, in the place of the network's own, which need not have any values yet."""
    expected = scorer.network.state_dict()
    problems = [f"missing {name}" for name in expected if name not in weights]
    problems += [f"unexpected {name}" for name in weights if name not in expected]
    problems += [
        f"{name} is {tuple(value.shape)}, expected {tuple(expected[name].shape)}"
        for name, value in weights.items()
        if name in expected and value.shape != expected[name].shape
    ]
    if problems:
        more = f" and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise ScorerError(f"{path} does not fit {scorer.network.family}: {'; '.join(problems[:10])}{more}")
    scorer.network.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
