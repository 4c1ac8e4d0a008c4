"""Config of AMBER's measures of captions."""

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import FilePath, Model, Text

FACTS = MetricFacts(
    place=10,
    metrics={
        "AMBER CHAIR": Definition(
            "Share of the nouns that stand for no object of the image (Wang et al. 2023).", "%", "items"
        ),
        "AMBER Cover": Definition(
            "Share of the objects of the images that their captions name (Wang et al. 2023).", "%", "items"
        ),
        "AMBER Hal": Definition(
            "Share of the captions with a noun that stands for no object of the image (Wang et al. 2023).", "%", "share"
        ),
        "AMBER Cog": Definition(
            "Share of the objects that people would expect in an image that lacks them and that its captions name "
            "(Wang et al. 2023).",
            "%",
            "items",
        ),
    },
    asks=("amber",),
    reads=("tags",),
    files=("annotations", "relation", "safe_words"),
    packages=("vectors",),
)


class Amber(Model):
    """Files of AMBER (github.com/junyangwang0410/AMBER, folder data), and the model that compares words."""

    annotations: FilePath = Field(
        description="annotations.json: a list of {id, type, truth, hallu}; only entries of the type `generative` count"
    )
    relation: FilePath = Field(
        description="relation.json: each word that counts as an object, with the words that may stand for it"
    )
    safe_words: FilePath | None = Field(
        None, description="safe_words.txt: words, one a line, that are never hallucinated; none by default"
    )
    vectors: Text | None = Field(
        None,
        description="installed spaCy model with word vectors, such as en_core_web_lg, by which similar nouns match as "
        "in the authors' code; by default words match only if they are equal",
    )


class Keys(Model):
    """Keys of an evaluation that ask for AMBER's measures."""

    amber: Amber | None = Field(
        None,
        description="files by which captions get AMBER's CHAIR, Cover, Hal and Cog; images without entry are left out",
    )
