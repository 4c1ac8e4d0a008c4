"""Config of the tables of Gaur et al. 2024."""

from collections.abc import Iterator
from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Block, Model, Ref, Unique
from captionlab.config.papers import PaperFacts, SeeingTrainings, listed

FACTS = PaperFacts()

Captions = Literal["COCO", "BlendCap", "HolisticCap"]
Training = Literal["MLE", "SR", "BagCurri", "CIDEr", "CIDEr+SR"]
OfCorpus = Literal["COCO", "ImageCoDe"]


class Config(Model):
    """Tables of Gaur et al. 2024, *No Detail Left Behind*."""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    evaluations: Annotated[list[Annotated[str, Ref("evaluations")]], Len(1), Unique()] = Field(
        description="evaluations with retrievers, whose captioners and corpora the tables are about; `bags` of the "
        "evaluation on COCO are TrueMatch"
    )
    corpora: Annotated[dict[OfCorpus, Annotated[str, Ref("corpora")]], Len(1)] = Field(
        description="by the paper's label the corpus: COCO, with candidates at random (RD100) and in bags (TrueMatch), "
        "and ImageCoDe, with its sets"
    )
    captioners: Annotated[dict[Captions, Annotated[dict[Training, SeeingTrainings], Len(1)]], Len(1)] = Field(
        description="by the captions that the captioner learned first (COCO, or BlendCap and HolisticCap, which a "
        "language model wrote) and by its last training the captioner that plays the role, or several that differ by "
        "the seed of their training. MLE: cross-entropy; SR: a discriminative reward with candidates at random, as in "
        "Dessì et al. 2023; BagCurri: the same with bags that grow; CIDEr and CIDEr+SR: these rewards, without bags or "
        "with them"
    )


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield messages on evaluations without retrievers or bags, and captioners that no evaluation has on a corpus."""
    evaluations = {name: config["evaluations"][name] for name in block["evaluations"]}
    for name, evaluation in evaluations.items():
        if not evaluation["retrievers"]:
            yield f"{where}.evaluations has {name!r}, which has no retrievers; add them there"
    searched = block["corpora"].get("COCO")
    if searched and not any(one["bags"] for one in evaluations.values() if searched in one["corpora"]):
        yield f"{where}.evaluations has none with `bags` on corpus {searched!r}; TrueMatch needs them, so add them"
    for label, corpus in sorted(block["corpora"].items()):
        of_corpus = [one["captioners"] for one in evaluations.values() if corpus in one["corpora"]]
        if not of_corpus:
            yield f"{where}.corpora.{label} is {corpus!r}, which none of its evaluations has; add it to one"
        for captions, trainings in sorted(block["captioners"].items()):
            for training, names in sorted(trainings.items()):
                for name in listed(names) if of_corpus else ():
                    if sum(name in captioners for captioners in of_corpus) != 1:
                        role = f"{where}.captioners.{captions}.{training}"
                        yield f"{role} is {name!r}: exactly one of its evaluations must have it on corpus {corpus!r}"
