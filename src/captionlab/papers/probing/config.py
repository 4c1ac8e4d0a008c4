"""Config of the tables and figures of Ma et al. 2022."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from annotated_types import Len
from pydantic import Field

from captionlab.config.analyses import outside
from captionlab.config.metrics import Definition
from captionlab.config.model import Block, Model, Ref, Unique
from captionlab.config.papers import Corpora, PaperFacts, SeeingTrainings

_TOP = "How many of the ten most frequent words are tagged as {} at least half of the time; UNK is not counted."
_CONNECTED = "How often {} between a noun phrase and the next noun phrase of the caption."
_PER_CENT, _PER_CAPTION, _OF_TEN = "per cent", "per caption", "words, 0 to 10"
_FOLLOWS = "How many captions {}."

FACTS = PaperFacts(
    analyses={
        "perplexity": Definition(
            "Geometric mean of the inverse probability of a word and of the end of a caption, by the trigram model of "
            "the section `language`; words that it does not know are left out.",
            "1 or more; lower is better",
            "corpus",
        ),
        "length": Definition("Mean number of words of a caption.", _PER_CAPTION, "mean"),
        "nouns": Definition("Mean number of nouns of a caption.", _PER_CAPTION, "mean"),
        "distinct nouns": Definition("Mean number of different nouns of a caption.", _PER_CAPTION, "mean"),
        "repeated nouns": Definition("Mean number of nouns that the caption already has.", _PER_CAPTION, "mean"),
        "nouns of the top words": Definition(_TOP.format("nouns"), _OF_TEN, "corpus"),
        "verbs of the top words": Definition(_TOP.format("verbs"), _OF_TEN, "corpus"),
        "connected noun phrases": Definition(_CONNECTED.format("a verb or preposition is"), _PER_CENT, "items"),
        "noun phrases connected by *": Definition(_CONNECTED.format("this word is"), _PER_CENT, "items"),
        "chosen": Definition(
            "How often the scorer prefers a caption of CE to its own nouns in each template; a share of the images.",
            _PER_CENT,
            "share",
        ),
        "first pattern": Definition(
            _FOLLOWS.format("follow the most frequent sentence pattern of the captioner's own captions"),
            _PER_CENT,
            "apart",
        ),
        "published prefix": Definition(
            _FOLLOWS.format("begin with the first prefix that the paper prints for the model of this name"),
            _PER_CENT,
            "apart",
        ),
        "published second prefix": Definition(
            "How many captions begin with the second prefix that the paper prints for the model of this name, of the "
            "captions that do not begin with the first.",
            _PER_CENT,
            "apart",
        ),
        "published pattern": Definition(
            _FOLLOWS.format("follow the sentence pattern that the paper prints for the model of this name"),
            _PER_CENT,
            "apart",
        ),
    }
)

Constructed = Annotated[
    str,
    Ref(
        "captioners",
        trainings=True,
        accepts={"family": ["constructed"]},
        reason="is {name}, whose family is not constructed",
    ),
]


class Config(Model):
    """Tables and figures of Ma et al. 2022, *Do image-text matching models reward human-like captions?*"""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    evaluation: Annotated[str, Ref("evaluations")] = Field(
        description="evaluation with the numbers; it has all that is named below"
    )
    captioners: Annotated[dict[str, SeeingTrainings], Len(1)] = Field(
        description="by the paper's label of a role a captioner, or several that differ by the seed of their training. "
        "All others are compared with `CE`; the paper's others are called after their scorer. The row of another label "
        "has no published numbers"
    )
    corpora: Corpora = Field(description="corpus by the paper's label")
    scorers: Annotated[dict[str, Annotated[str, Ref("scorers")]], Len(1)] = Field(
        description="scorer by the paper's name"
    )
    constructed: Constructed | Annotated[list[Constructed], Len(1), Unique()] = Field(
        description="captioners of the family constructed, for tables 1, 6 and 7 and figures 2 and 3"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for a missing section or role, and for what the evaluation does not have."""
        if "language" not in config:
            yield "{place} needs a language model; add the section `language`"
        if "CE" not in self.captioners:
            yield "{place}.captioners needs the role CE, which all others are compared with"
        yield from outside(config, self.evaluation, "captioners", {"constructed": self.constructed})
        for section in ("captioners", "scorers", "corpora"):
            named = {f"{section}.{label}": value for label, value in getattr(self, section).items()}
            yield from outside(config, self.evaluation, section, named)


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield nothing: the model sees all mistakes."""
    yield from ()
