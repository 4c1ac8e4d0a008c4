"""Models of corpora, of annotated objects and regions, and of judged captions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field, PositiveInt

from captionlab.config.languages import PTB, Tokenizer, is_english, language_mistake
from captionlab.config.model import FilePath, Model, Nullable, OwnSeed, Ref, Share, Unique
from captionlab.config.plugins import cases_by, plugin_models

PathsOfSplits = Annotated[dict[str, FilePath], Len(1)]
Folder = Annotated[FilePath | None, Nullable]
Folders = Annotated[FilePath | PathsOfSplits | None, Nullable]
FOLDER = "folder of the images; null for texts only"
LANGUAGE = (
    "language of its captions, as a code of ISO 639 or BCP 47 such as de or zh-Hant; metrics and taggers depend on it "
    "(docs/metrics.md)"
)
FOLDERS = "folder of the images, or one for each split; null for texts only"


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """Facts of a reader of corpora, which the graph reads."""

    files: tuple[str, ...]
    """keys that name files, one or one for each split; folders of images are not listed"""
    folders: tuple[str, ...] = ()
    """keys that name folders of annotations, whose files are not listed either"""
    patterns: tuple[str, ...] = ()
    """keys that name tars, for each split a tar, a folder of tars, or a path with * and ? for any characters"""
    contents: str = ""
    """pattern of files in the folder of the corpus (captionlab.corpora.inputs.folder_of), read if no key of `files` is
    set"""
    scenes: bool = False
    """whether images have scene captions"""
    undescribed: bool = False
    """whether there are images that nobody described, which are candidates only"""
    published: bool = False
    """whether it reads published data sets only, and not also files of users"""
    languages: bool = False
    """whether its files have captions in several languages, of which the key `language` chooses one"""
    libraries: tuple[str, ...] = ()
    """libraries beside pillow whose versions change the corpus"""


class Corpus(Model):
    """Images with captions."""

    evaluation_split: str = Field("test", description="split that evaluations use")
    shards: PositiveInt = Field(1, description="number of jobs that embed its images")
    language: str = Field("en", description=LANGUAGE)
    tokenizer: Tokenizer | None = Field(
        None,
        description="tokeniser of BLEU, ROUGE-L, CIDEr and diversity: ptb is pycocoevalcap's and for English, the "
        "others are sacrebleu's; by default the tokeniser of its language",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there is no such language, or if its captions cannot be read by its tokeniser."""
        if wrong := language_mistake(self.language):
            yield f"{{place}}.language {wrong}"
        elif self.tokenizer == PTB and not is_english(self.language):
            yield (
                f"{{place}}.tokenizer is {PTB}, which is for English, and its language is {self.language}; leave it "
                "out, or name a tokeniser of sacrebleu"
            )


class CorpusOfFiles(Corpus):
    """A corpus that is read from files."""

    max_rejected: Share = Field(0.01, description="largest share of broken entries that is accepted")
    split_in_id: bool = Field(
        False, description="whether split and / are put before each image id, for splits that number their images alike"
    )


def corpus_models() -> dict[str, Any]:
    """Return the model of a corpus by the name of its reader."""
    toyworld = import_module("captionlab.corpora.toyworld.config").Config
    return dict(sorted({"toyworld": toyworld, **plugin_models("corpora.readers")}.items()))


AnyCorpus = Annotated[Corpus, cases_by("reader", corpus_models)]


FilesOfCorpora = Annotated[
    dict[Annotated[str, Ref("corpora")], FilePath | Annotated[list[FilePath], Len(1)]],
    Len(1),
]
FILES_OF_CORPORA = "by corpus the files or folders with its images"


class Regions(Model):
    """Regions of images, with features."""


class Boxes(Regions):
    """The annotated boxes of a corpus, embedded by an encoder."""

    source: Literal["boxes"]
    encoder: Annotated[str, Ref("encoders")] = Field(
        description="encoder that embeds the annotated boxes of a corpus and the whole image"
    )


class RegionFiles(Regions):
    """Regions in published files."""

    source: Literal["files"]
    format: Literal[
        "lxmert-tsv",
        "bottom-up-tsv",
        "rosita-tsv",
        "rosita-npz",
        "uniter-npz",
        "uniter-lmdb",
        "vilbert-lmdb",
        "vinvl-tsv",
    ] = Field(description="format of the files")
    files: FilesOfCorpora = Field(description=FILES_OF_CORPORA)


class Detector(Regions):
    """Regions that a detector finds."""

    source: Literal["detector"]
    weights: FilePath = Field(description="weights of torchvision's fasterrcnn_resnet50_fpn_v2")
    count: PositiveInt = Field(36, description="largest number of regions of an image")
    size: Annotated[int, Field(ge=16)] = Field(800, description="pixels of the shorter side of an image after resizing")


REGIONS = {"boxes": Boxes, "files": RegionFiles, "detector": Detector}
AnyRegions = Annotated[Regions, cases_by("source", lambda: REGIONS)]


class Tags(Model):
    """Names of the objects of an image."""

    source: Literal["objects", "regions", "files"] = Field(
        description="annotated objects, labels of regions, or VinVL's *.label.tsv"
    )
    regions: Annotated[str, Ref("regions")] | None = Field(None, description="regions whose labels are the tags")
    files: FilesOfCorpora | None = Field(None, description=FILES_OF_CORPORA)

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for each key that the source needs or does not have."""
        keys = {"regions", "files"}
        needed = keys & {self.source}
        if missing := needed - self.model_fields_set:
            yield f"{{place}}: tags of the source {self.source} need {missing.pop()}"
        if wrong := sorted((keys - needed) & self.model_fields_set, reverse=True):
            yield f"{{place}}: tags of the source {self.source} do not have {' and '.join(wrong)}"


@dataclass(frozen=True, kw_only=True)
class JudgementFacts:
    """Facts of a reader of judged captions, which the graph reads."""

    files: tuple[str, ...]
    """keys that name the files it reads"""
    ratings: bool
    """whether single captions are rated; else one of two is preferred"""
    leaves_out: Literal["candidates", "references"]
    """which of the two is left out if a judged caption is also a reference of its image"""
    foils: bool = False
    """whether the second caption of each pair is a foil: a true caption in which something was made wrong"""
    simulated: bool = False
    """whether judges are simulated, which only the toy world allows"""
    folders: tuple[str, ...] = ()
    """keys that name folders of files that it reads"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions change the judgements"""


class Judgements(Model):
    """Captions that people judged."""

    corpus: Annotated[str, Ref("corpora")] = Field(description="corpus with the images and references")
    references_per_image: PositiveInt | None = Field(
        None, description="number of references of each image, drawn by the seed; all by default"
    )
    scorers: Annotated[list[Annotated[str, Ref("scorers", trainings=True)]], Unique()] = Field(
        [], description="scorers of every caption with its image"
    )
    seed: OwnSeed = Field(
        None, description="seed of drawn references and of simulated judges; by default the seed of the config"
    )
