"""Scorers on disk: a folder with config.json, model.safetensors and vocab.txt.

Encoders have no vocab.txt, and models that are published as a folder have tokenizer.json in its place.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from captionlab.networks.checkpoints import CheckpointError, check_fit, origin_of, read_checkpoint, write_model
from captionlab.networks.wordpiece import WordPieces, learn_pieces
from captionlab.plugins import family_class, names, own_keys
from captionlab.scorers.scorer import Matching, NetworkScorer, Scorer, ScorerNetwork
from captionlab.storage.files import digest, replacing
from captionlab.userfiles.model_config import NAME, made_here, refuse_other, with_sizes_beside

FILES = ("config.json", "model.safetensors", "vocab.txt")


def new_scorer(
    config: Mapping[str, Any], texts: Iterable[str], region_size: int, device: str | torch.device = "cpu"
) -> NetworkScorer:
    """Return a scorer with random weights, to be trained, for regions with `region_size` numbers.

    Its word pieces are learnt from `texts`. `config` is the scorer's block of the config: `family`, `architecture` (all
    sizes except the sizes of regions and head; `vocabulary` is the largest number of word pieces), and optionally
    settings of `Matching`. Unless `max_tokens` is set, the scorer reads as many tokens as it has positions. Raises
    CheckpointError if the config does not fit.
    """
    sizes = dict(config["architecture"])
    count = sizes.pop("vocabulary")
    matching = _matching({"max_tokens": sizes["positions"], **config})
    how = matching.lowercase, matching.strip_punctuation
    try:
        words = WordPieces(learn_pieces(texts, count, *how), *how)
        given = {"vocabulary": len(words.pieces), "region_size": region_size, "outputs": matching.outputs}
        network = family_class("scorers", config["family"])(**sizes, **given)
        return NetworkScorer(network, words, matching).to(device)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"no {config['family']} scorer can be built from this config: {error}") from error


def import_scorer(
    config: Mapping[str, Any],
    weights: str | os.PathLike[str],
    vocabulary: str | os.PathLike[str],
    directory: str | os.PathLike[str],
) -> None:
    """Store a scorer whose weights lie in a PyTorch or safetensors file, published or made by captionlab.

    `config` is the scorer's block of the config: `family`, optionally settings of `Matching`, and sizes that cannot be
    read off published weights, such as `heads`, unless a config.json of transformers beside the weights has them. The
    method `from_published` of the family lists these sizes. If the scorer was made by captionlab, config.json beside
    the weights describes it. Raises ValueError for a size that a config.json contradicts, and CheckpointError if
    weights, vocabulary or config do not fit.
    """
    beside, state = Path(weights).with_name(NAME), read_checkpoint(weights)
    if found := made_here(beside, "scorers", config["family"]):
        refuse_other(beside, config, found.get("architecture", {}))
        scorer = _described(beside, found, vocabulary, _settings(config))
    else:
        scorer, state = _published(config, weights, vocabulary, state)
    _load_weights(scorer, state, weights)
    save_scorer(scorer, directory, origin_of(weights))


def import_folder(config: Mapping[str, Any], folder: str | os.PathLike[str], directory: str | os.PathLike[str]) -> None:
    """Store a scorer that was published as a folder, or that captionlab stored in a folder.

    `config` is the scorer's block of the config. Raises ValueError if captionlab stored another model there, and
    CheckpointError if the folder does not contain a scorer of this family.
    """
    family = family_class("scorers", config["family"])
    settings = {name: value for name, value in config.items() if name != "family"}
    if made_here(Path(folder) / NAME, "scorers", config["family"]):
        scorer = family.load(folder, **settings)
    else:
        scorer = family.from_folder(folder, settings)
    scorer.save(directory, {"weights": Path(folder).name, "blake2b": digest(folder)})


def save_scorer(
    scorer: NetworkScorer, directory: str | os.PathLike[str], origin: Mapping[str, Any] | None = None
) -> None:
    """Write config.json, model.safetensors and vocab.txt of a scorer; `origin` is stored in config.json."""
    network = scorer.network
    config = {
        "family": network.family,
        "architecture": network.architecture,
        "matching": asdict(scorer.matching),
        "origin": dict(origin or {}),
    }
    write_model(directory, config, network.state_dict())
    with replacing(Path(directory) / FILES[2]) as path:
        scorer.words.save(path)


def load_scorer(directory: str | os.PathLike[str], device: str | torch.device = "cpu") -> Scorer:
    """Read a scorer of any family, frozen, in evaluation mode.

    Raises CheckpointError, which names the file, if a file does not fit.
    """
    config, weights, vocabulary = (Path(directory) / name for name in FILES)
    try:
        described = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{config} does not describe a scorer: {error!r}; make the scorer again") from error
    # Of an encoder that is a scorer, `family` is the encoder's.
    name = described.get("scorer", described.get("family"))
    if name in names("scorers") and not issubclass(family := family_class("scorers", name), ScorerNetwork):
        return cast(Scorer, family.load(directory, device))
    scorer = _described(config, described, vocabulary, {})
    _load_weights(scorer, read_checkpoint(weights), weights)
    return scorer.to(device).requires_grad_(False).eval()


def _described(
    path: Path, described: Mapping[str, Any], vocabulary: str | os.PathLike[str], settings: Mapping[str, Any]
) -> NetworkScorer:
    """Return the scorer that a config.json describes, on `meta`, with `settings` in place of its own."""
    try:
        matching = Matching(**{**described["matching"], **settings})
        with torch.device("meta"):
            network = family_class("scorers", described["family"])(**described["architecture"])
        words = WordPieces.load(vocabulary, matching.lowercase, matching.strip_punctuation)
        return NetworkScorer(network, words, matching)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} does not describe a scorer: {error!r}; make the scorer again") from error


def _published(
    config: Mapping[str, Any],
    weights: str | os.PathLike[str],
    vocabulary: str | os.PathLike[str],
    checkpoint: Mapping[str, Any],
) -> tuple[NetworkScorer, dict[str, Any]]:
    """Return a scorer with the sizes of a published checkpoint, on `meta`, and the weights to load into it."""
    family, matching = family_class("scorers", config["family"]), _matching(config)
    known = {"family", "regions", "weights", "vocabulary", *_settings(config)}
    options = {name: value for name, value in config.items() if name not in known}
    options = with_sizes_beside(weights, options, ("heads", *own_keys("scorers", config["family"])))
    try:
        with torch.device("meta"):
            network, state = family.from_published(checkpoint, head=matching.head, **options)
        words = WordPieces.load(vocabulary, matching.lowercase, matching.strip_punctuation, *family.ADDED)
        scorer = NetworkScorer(network, words, matching)
    except CheckpointError as error:
        raise CheckpointError(f"{weights}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError) as error:
        reason = f"it has no tensor {error}" if isinstance(error, KeyError) else str(error)
        shown = ", ".join(list(checkpoint)[:5])
        raise CheckpointError(
            f"{weights} with {vocabulary} makes no {config['family']} scorer: {reason}. The first of the "
            f"{len(checkpoint)} names in the weights are {shown}"
        ) from error
    with_sizes_beside(weights, network.architecture, ())
    return scorer, state


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of `Matching` in a config."""
    return {field.name: config[field.name] for field in fields(Matching) if field.name in config}


def _matching(config: Mapping[str, Any]) -> Matching:
    """Return the default settings of a config's family, updated by the settings in the config."""
    return replace(family_class("scorers", config["family"]).MATCHING, **_settings(config))


def _load_weights(scorer: NetworkScorer, weights: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Load weights in single precision into a scorer, which may be on `meta`. Raises CheckpointError for a misfit."""
    check_fit(path, scorer.network.family, scorer.network.state_dict(), weights)
    scorer.network.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
