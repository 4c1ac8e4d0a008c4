"""Models of the analyses of language and scenes, of the study with people, and of the check of validity."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints

from captionlab.config.model import FilePath, Model, OwnSeed, Ref, Share, Unique
from captionlab.config.training import Retriever

Splits = Annotated[list[str], Len(1), Unique()]
Numbers = Annotated[list[PositiveInt], Len(1), Unique()]


def outside(config: Mapping[str, Any], evaluation: str, section: str, names: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each name that an evaluation does not have.

    `section` is the key of the evaluation that lists names; `names` has one name or several by the key that has them.
    """
    evaluations = config.get("evaluations")
    block = evaluations.get(evaluation) if isinstance(evaluations, Mapping) else None
    there = config.get(section)
    if not isinstance(block, Mapping) or not isinstance(there, Mapping):
        return
    listed: Any = block.get(section)
    listed = listed if isinstance(listed, list) else []
    for key, value in names.items():
        for name in value if isinstance(value, list) else [value]:
            if name.partition("@")[0] in there and name not in listed:
                where = f"evaluations.{evaluation}.{section}"
                yield f"{{place}}.{key} is {name!r}, which is not in {where}; add it there"


class LanguageModel(Model):
    """The trigram language model."""

    corpus: Annotated[str, Ref("corpora")] | None = Field(None, description="corpus whose references it learns")
    splits: Splits | None = Field(None, description="splits of the corpus whose references it learns")
    arpa: FilePath | None = Field(
        None, description="file of a trigram language model made elsewhere, in place of `corpus`; see below"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if it is both given and trained, or neither."""
        learnt = ("corpus", "splits")
        if self.arpa and (wrong := [key for key in learnt if getattr(self, key)]):
            yield f"{{place}} has arpa, so no model is trained here: drop {' and '.join(wrong)}"
        if not self.arpa and (missing := [key for key in learnt if not getattr(self, key)]):
            yield f"{{place}} has no arpa, so it is trained here and needs {' and '.join(missing)}"


class Language(Model):
    """Measures of the language of captions."""

    evaluation: Annotated[str, Ref("evaluations")] = Field(description="evaluation whose captions are studied")
    fluency: Annotated[list[Annotated[str, Ref("evaluations")]], Len(1), Unique()] | None = Field(
        None,
        description="evaluations in which `papers.discritune` compares the fluency of captions with the fluency before "
        "finetuning; `evaluation` by default",
    )
    caption_types: Annotated[list[str], Len(2), Unique()] | None = Field(
        None, description="captioners of the evaluation whose adjectives and nouns are told apart; all by default"
    )
    model: LanguageModel = Field(description="trigram language model")
    tagger: str = Field(
        "en_ewt_sm",
        description="spaCy model: en_ewt_sm, which comes with the workflow, or an installed one such as en_core_web_sm",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each type of captions that the evaluation does not have."""
        yield from outside(config, self.evaluation, "captioners", {"caption_types": self.caption_types or []})


class Validity(Model):
    """The check whether the experiments of a run mean something."""

    corpus: Annotated[str, Ref("corpora")] = Field(
        description="corpus in which human captions find their image among 100: an evaluation has it, a captioner of "
        "the family human, and retrievers"
    )


class Labels(Model):
    """Which scenes there are."""

    number: PositiveInt = Field(8, description="number of scenes; the scenes of most images are taken")
    names: Splits | None = Field(None, description="names of scenes, in place of `number`")
    min_captions: PositiveInt = Field(1, description="captions of an image that must name a scene")
    table: Literal["scene_captions", "captions"] = Field(
        "scene_captions",
        description="table of the corpus whose captions name scenes; captions: for a corpus without scene captions",
    )


class Attention(Model):
    """Attention of a captioner to tags and regions."""

    images: Annotated[int, Field(ge=3)] = Field(100, description="images that are drawn, whose blocks are measured")
    layer: PositiveInt = Field(1, description="layer whose attention is shown")
    examples: NonNegativeInt = Field(2, description="images whose whole matrix is kept")


class Density(Model):
    """The density of attention."""

    steps: Annotated[int, Field(ge=10)] = Field(100, description="places of the grid along deviation and mass")


class Ranking(Model):
    """Rankings of objects."""

    depths: Numbers = Field([3, 5, 7], description="numbers of objects that are compared")
    frequent: Literal["other-splits", "all-splits"] = Field(
        "other-splits", description="images whose objects are counted; attention is measured on one split"
    )
    mean: bool = Field(False, description="whether attention to an object is a mean over tags, not a sum over images")


class Pmi(Model):
    """Pointwise mutual information of objects and scenes."""

    min_count: PositiveInt = Field(5, description="images of a scene that an object must be in")
    smoothing: Literal["none", "laplace", "discount"] = Field("none", description="smoothing of the counts")


class RegionMatching(Model):
    """When a region shows a tagged object."""

    overlap: Share = Field(0.6, description="intersection over union from which a region has a tag")
    inside: Share = Field(0.8, description="or share of the region that is inside the box of the tag")


class Ablation(Model):
    """Removal of objects."""

    objects: Numbers = Field([1, 2, 3], description="numbers of objects that are removed")
    mask: Literal["kept", "closed"] = Field(
        "kept", description="kept: removed tags and regions can still be attended to; closed: they cannot"
    )


class Probes(Model):
    """Probes of scenes (Cafagna et al. 2022, appendix D)."""

    scenes: Annotated[int, Field(ge=2)] = Field(
        8, description="number of classes: the first scenes, or all if `labels` has fewer"
    )
    selection: Literal["diagnostic-objects", "all"] = Field(
        "diagnostic-objects", description="images with all objects that are removed, or all images of a scene"
    )
    images: Annotated[int, Field(ge=4)] = Field(
        1426, description="largest number of images; the most frequent scenes are downsampled"
    )
    objects: PositiveInt = Field(3, description="number of objects that are removed from ablated images")
    test_shares: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Len(1), Unique()] = Field(
        [0.1, 0.3, 0.5], description="shares of the images that are tested"
    )
    seeds: Annotated[int, Field(ge=2)] = Field(5, description="number of splits that are drawn for each share")
    search: bool = Field(
        False, description="true: settings of the neural probe are searched for by cross-validation; false: the paper's"
    )


class SceneAnalysis(Model):
    """The analysis of scenes: Cafagna et al. 2022, sections 5 to 7 and appendices C and D, or docs/fidelity.md."""

    corpus: Annotated[str, Ref("corpora")] = Field(
        description="corpus whose scene captions say which scene an image depicts; its evaluation split gives attention"
    )
    pretrained: Annotated[str, Ref("captioners")] = Field(
        description="captioner, a VinVL, before it is finetuned on scenes"
    )
    finetuned: Annotated[str, Ref("captioners")] = Field(description="captioner after it is finetuned on scenes")
    decoding: Annotated[
        str,
        Ref(
            "decodings",
            refuses={"kind": ["sample"]},
            reason="draws at random; captions before and after ablation are compared: use a beam",
        ),
    ] = Field(description="decoding of the captions before and after ablation")
    splits: Splits | None = Field(
        None, description="splits whose images are ablated and probed; the evaluation split by default"
    )
    seed: OwnSeed = Field(None, description="seed of all random choices; by default the seed of the config")
    labels: Labels = Field(Labels.model_construct(), description="")
    attention: Attention = Field(Attention.model_construct(), description="")
    density: Density = Field(Density.model_construct(), description="")
    ranking: Ranking = Field(Ranking.model_construct(), description="")
    pmi: Pmi = Field(Pmi.model_construct(), description="")
    matching: RegionMatching = Field(
        RegionMatching.model_construct(), description="condition for a region to show a tagged object"
    )
    ablation: Ablation = Field(Ablation.model_construct(), description="")
    probes: Probes = Field(Probes.model_construct(), description="")


class SimulatedParticipants(Model):
    """Participants that a retriever drives, in place of people."""

    retriever: Retriever = Field(description="encoder that answers in place of people")
    participants: PositiveInt = Field(description="number of simulated participants")


class Study(Model):
    """The study with people (Dessì et al. 2023, section 4.2.4 and appendix A, whose settings are the defaults)."""

    corpus: Annotated[str, Ref("corpora")] = Field(description="corpus whose images of the evaluation split are shown")
    evaluation: Annotated[str, Ref("evaluations")] = Field(description="evaluation whose captions are shown")
    captioners: Annotated[list[Annotated[str, Ref("captioners")]], Len(2), Unique()] = Field(
        description="types of captions that are compared; one is human, which controls show too"
    )
    encoder: Annotated[str, Ref("encoders")] = Field(
        description="encoder that finds neighbours and makes sure that controls are easy"
    )
    max_similarity: Annotated[float, Field(ge=-1, le=1)] = Field(
        0.8, description="cosine above which a neighbour is a near duplicate and is left out (note 8 of the paper)"
    )
    sets: PositiveInt = Field(500, description="number of sets of ten images; a multiple of `block`")
    block: PositiveInt = Field(100, description="questions to one participant, controls aside")
    controls: NonNegativeInt = Field(5, description="controls of a participant")
    exclude: FilePath | None = Field(None, description="file of ids of images that nobody is shown, one in a line")
    consent: FilePath | None = Field(
        None, description="file of the text that participants agree to; empty lines part paragraphs"
    )
    post: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = Field(
        None, description="address that the page sends answers to by POST, as CSV; without it they are downloaded"
    )
    responses: Annotated[list[FilePath], Len(1), Unique()] | None = Field(
        None, description="CSV files of answers, of the page or of PsychoPy: they ask for Table 6 and Figure 2"
    )
    simulated: SimulatedParticipants | None = Field(
        None, description="simulated participants, whose table and figure are called simulated"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each captioner or corpus that the evaluation does not have."""
        yield from outside(config, self.evaluation, "corpora", {"corpus": self.corpus})
        yield from outside(config, self.evaluation, "captioners", {"captioners": self.captioners})
