"""A scorer that reads regions, with random weights and a vocabulary of the test."""

from dataclasses import fields, replace

from captionlab.networks.wordpiece import WordPieces
from captionlab.plugins import family_class
from captionlab.scorers.scorer import Matching, NetworkScorer


def build_scorer(config, vocabulary, region_size) -> NetworkScorer:
    """One of a block with `family`, `architecture` and perhaps settings of `Matching`, for a vocab.txt."""
    family = family_class("scorers", config["family"])
    given = {field.name: config[field.name] for field in fields(Matching) if field.name in config}
    matching = replace(family.MATCHING, **given)
    words = WordPieces.load(vocabulary, matching.lowercase, matching.strip_punctuation)
    sizes = {"vocabulary": len(words.pieces), "region_size": region_size, "outputs": matching.outputs}
    return NetworkScorer(family(**config["architecture"], **sizes), words, matching)
