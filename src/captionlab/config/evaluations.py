"""Models of decodings, evaluations, and of metrics that a command computes."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Annotated, Any, Literal, get_args

from annotated_types import Len
from pydantic import Field, PositiveFloat, PositiveInt, StringConstraints

from captionlab.config.model import FilePath, Model, Portion, Ref, Text, Unique
from captionlab.config.plugins import cases_by

Captioners = Annotated[list[Annotated[str, Ref("captioners", trainings=True)]], Len(1), Unique()]
Corpora = Annotated[list[Annotated[str, Ref("corpora")]], Len(1), Unique()]
Scorers = Annotated[list[Annotated[str, Ref("scorers", trainings=True)]], Unique()]
Retrievers = Annotated[
    list[Annotated[str, Ref("encoders", trainings=True, able="texts", reason="which has no text side")]], Unique()
]

# Two captioners, of which the first is compared with the second. Names of blocks with `seeds` stand for all trainings.
Pair = Annotated[list[Annotated[str, Ref("captioners")]], Len(2, 2), Unique()]
ALL_PAIRS = "all-pairs"


class SliceColumn(Model):
    """A column of a file of the user, by whose values images are sliced."""

    file: FilePath = Field(
        description="file with a header and a row for each image, separated by commas, semicolons or tabs; its column "
        "image_id has the ids of images"
    )
    column: Text = Field(description="name of the column; the images with a value are a slice")


OwnSlices = Literal["scene", "object", "length"]
OWN_SLICES: tuple[str, ...] = get_args(OwnSlices)
Slices = Annotated[list[OwnSlices | SliceColumn], Len(1), Unique()]


class Decoding(Model):
    """How a captioner writes captions."""

    max_tokens: PositiveInt = Field(
        description="largest number of tokens of a caption; the end counts, a prefix or prompt does not"
    )
    stop: Text | None = Field(None, description="text in a token after which the caption ends")
    rules: Literal["transformers", "transformers-2022", "oscar", "camel"] = Field(
        "transformers",
        description="implementation whose beam search is followed, and which says whether a caption that is cut keeps "
        "its last token: see below",
    )
    repetition_penalty: PositiveFloat | None = Field(
        None,
        description="above 1, tokens that the caption already has become less probable, and for captioners of the hub "
        "tokens of the prompt, too; 1 by default",
    )

    @property
    def captions_per_image(self) -> int:
        """Return the number of captions that are generated for an image."""
        return 1

    @property
    def rows_per_image(self) -> int:
        """Return the number of captions of an image that are computed at the same time."""
        return self.captions_per_image


class Greedy(Decoding):
    """The most probable token at each step."""

    kind: Literal["greedy"]


class Sample(Decoding):
    """A token that is drawn at each step."""

    kind: Literal["sample"]
    temperature: PositiveFloat = Field(1.0, description="number that logits are divided by")
    top_k: PositiveInt | None = Field(
        None, description="number of most probable tokens that are drawn from; all by default"
    )
    top_p: Portion | None = Field(
        None,
        description="the fewest most probable tokens that have this probability together are drawn from, after "
        "temperature and top_k; all by default",
    )
    samples: PositiveInt | None = Field(
        None, description="number of captions that are drawn of each image; an evaluation scores each; 1 by default"
    )

    @property
    def captions_per_image(self) -> int:
        """Return the number of captions that are drawn for an image."""
        return self.samples or 1


class Beam(Decoding):
    """Beam search."""

    kind: Literal["beam"]
    beams: Annotated[int, Field(ge=2)] = Field(description="number of captions that are kept of each image")
    length_penalty: float | None = Field(
        None,
        description="power of the length by which the log-probability of a beam is divided, with "
        "`rules: transformers`; 1 by default",
    )

    @property
    def rows_per_image(self) -> int:
        """Return the number of beams of an image."""
        return self.beams

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each key that the implementation of the beam search does not have."""
        if self.rules != "transformers" and self.length_penalty is not None:
            yield "{place}.length_penalty is for `rules: transformers`; the other beam searches have none"
        if self.rules in ("oscar", "camel") and self.repetition_penalty is not None:
            yield (
                "{place}.repetition_penalty is for `rules: transformers`; beam searches of Oscar and CaMEL have none"
            )


DECODINGS: Mapping[str, type[Decoding]] = {"greedy": Greedy, "sample": Sample, "beam": Beam}
AnyDecoding = Annotated[Decoding, cases_by("kind", lambda: DECODINGS)]


def read_decoding(block: Mapping[str, Any]) -> Decoding:
    """Return the decoding of a checked block of a config. Raises ValueError for a block that breaks its model."""
    if block.get("kind") not in DECODINGS:
        raise ValueError(f"decoding.kind is {block.get('kind')!r}; it must be {', '.join(DECODINGS)}")
    return DECODINGS[block["kind"]].model_validate(dict(block))


class LookAlikes(Model):
    """Bags of look-alikes among which retrievers look, too (Gaur et al. 2024, TrueMatch)."""

    encoder: Annotated[str, Ref("encoders", trainings=True)] = Field(
        description="encoder by whose embeddings the images of a bag are look-alikes"
    )
    sizes: Annotated[list[Annotated[int, Field(ge=2)]], Len(1), Unique()] = Field(
        description="images of a bag; bags of each size are made apart"
    )
    number: PositiveInt | None = Field(
        None, description="largest number of bags of a size, the most similar first; all by default"
    )


class Evaluation(Model):
    """Captions of several captioners on several corpora, and their scores."""

    captioners: Captioners = Field(description="captioners; each describes the images of all corpora")
    corpora: Corpora = Field(description="corpora, whose images of the evaluation split are described")
    decoding: Annotated[str, Ref("decodings")] | None = Field(
        None, description="decoding; not needed for captions that are there already"
    )
    retrievers: Retrievers = Field(
        [], description="encoders that look for the image of each caption among the candidates, and among all images"
    )
    scorers: Scorers = Field([], description="scorers of every caption with its image")
    candidates: Annotated[int, Field(ge=2)] = Field(100, description="number of images among which a retriever looks")
    candidate_sets: Literal["file-order", "random"] = Field(
        "file-order",
        description="candidates are drawn at random, or are blocks in the order of the annotation file, as in the code "
        "of Dessì et al. 2023",
    )
    bags: LookAlikes | None = Field(
        None, description="bags of look-alikes, among which retrievers look for the image of each caption, too"
    )
    references_per_image: PositiveInt | None = Field(
        None, description="number of references of an image, the first ones; all by default"
    )
    compare: Literal["all-pairs"] | Annotated[list[Pair], Len(1)] | None = Field(
        None,
        description="pairs of its captioners whose differences are tested, or `all-pairs`; captioners with `seeds` are "
        "compared seed by seed; by default, captioners are compared with their parents alone",
    )
    slices: Slices | None = Field(
        None,
        description="what the table `slices` has every metric by: scene and object, as annotated in the corpora, "
        "length, which is the number of words of a caption, or a column of a file; no slices by default",
    )
    shards: PositiveInt = Field(
        1,
        description="number of jobs in which a captioner describes its images; samples depend on it, other captions do "
        "not but for rounding",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each pair that cannot be compared, and for each column that cannot be told apart."""
        names = [one if isinstance(one, str) else one.column for one in self.slices or ()]
        for name in dict.fromkeys(names):
            if names.count(name) > 1 or (name in OWN_SLICES and name not in (self.slices or ())):
                yield f"{{place}}.slices: {name!r} has two meanings; rename the column, or keep one"
        if self.bags and not self.retrievers:
            yield "{place}.bags are for retrievers, and there are none; add retrievers, or drop bags"
        for place, pair in enumerate(self.pairs):
            if absent := [name for name in pair if name not in self.captioners]:
                yield f"{{place}}.compare has {absent[0]!r}, which is not among its captioners; add it there"
            if {*pair} in map(set, self.pairs[:place]):
                yield f"{{place}}.compare has the pair {' and '.join(pair)} twice; keep one"
            seeds = [_trainings(config["captioners"], name) for name in pair]
            if min(seeds) > 1 and seeds[0] != seeds[1]:
                yield (
                    f"{{place}}.compare has {pair[0]} with {seeds[0]} seeds and {pair[1]} with {seeds[1]}, which "
                    "cannot be compared seed by seed; give both as many"
                )

    @property
    def pairs(self) -> list[list[str]]:
        """Return the pairs of `compare`; of `all-pairs`, every two captioners in their order, if there are two."""
        if self.compare == ALL_PAIRS:
            return [[*pair] for pair in combinations(self.captioners, 2)]
        return [*self.compare] if self.compare else []


def _trainings(captioners: Any, name: str) -> int:
    """Return the number of trainings of a captioner, whose block may have mistakes of any kind."""
    block = captioners.get(name) if isinstance(captioners, Mapping) else None
    seeds = block.get("seeds") if isinstance(block, Mapping) else None
    return len(seeds) if isinstance(seeds, list) else 1


class CommandMetric(Model):
    """A metric that a command of the user computes."""

    command: Annotated[str, StringConstraints(pattern=r"\S")] = Field(
        description="program and arguments, to which two files are added: captions to read and scores to write; a word "
        "that is a file below `data` is that file"
    )
    conda: FilePath | None = Field(None, description="file of the environment that it runs in, which conda makes")
    venv: FilePath | None = Field(
        None,
        description="folder of a virtual environment that it runs in; without venv and conda, it runs in "
        "captionlab's own",
    )
    version: str | float = Field(
        "1",
        description="version of the metric; another version, another command or a changed file of its command or "
        "environment scores anew",
    )
    references: bool = Field(
        True, description="whether it reads references; human captions, which are references, have no such score then"
    )
    scale: float = Field(100, description="factor of its mean in tables")
    time_limit: PositiveInt = Field(
        60, description="minutes for the captions of a captioner, after which it is stopped"
    )
    mem_mb: PositiveInt = Field(8000, description="memory that it needs, MB")
    gpu: Annotated[int, Field(ge=0, le=1)] = Field(0, description="number of GPUs that it uses, 0 or 1")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there are two environments."""
        if self.conda and self.venv:
            yield "{place} has both conda and venv; keep the environment that its command runs in"
