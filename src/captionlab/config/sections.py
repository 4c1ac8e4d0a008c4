"""The whole config."""

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, create_model

from captionlab import plugins
from captionlab.config.analyses import Language, SceneAnalysis, Study, Validity
from captionlab.config.captioners import AnyCaptioner
from captionlab.config.comparisons import Comparison
from captionlab.config.corpora import AnyCorpus, AnyRegions, Judgements, Tags
from captionlab.config.encoders import AnyEncoder
from captionlab.config.evaluations import AnyDecoding, CommandMetric, Evaluation
from captionlab.config.judges import AnyJudge
from captionlab.config.model import FilePath, Model, Name, Nullable, Seed, Unique
from captionlab.config.plotting import VenueName
from captionlab.config.plugins import cases_by, plugin_models
from captionlab.config.questions import AnyQuestions
from captionlab.config.scorers import AnyScorer
from captionlab.places import remembered


class Checkpoints(Model):
    """When trainings write checkpoints. Results do not depend on it, and a change reruns nothing."""

    seconds: PositiveFloat = Field(300, description="seconds between two checkpoints")
    steps: Annotated[PositiveInt | None, Nullable] = Field(
        None, description="updates between two checkpoints; null: by time only"
    )


@remembered
def _metric_keys() -> tuple[Any, ...]:
    """Return the models of the keys by which evaluations and judgements ask for metrics."""
    return tuple(plugin_models("evaluation.metrics", "Keys").values())


@remembered
def evaluation_model() -> Any:
    """Return the model of an evaluation with the keys of all metrics."""
    return create_model("AnyEvaluation", __base__=(*_metric_keys(), Evaluation), __doc__=Evaluation.__doc__)


@remembered
def judgement_models() -> dict[str, Any]:
    """Return the models of judgements with the keys of all metrics, by the name of their reader."""
    models = plugin_models("judgements.readers")
    return {
        name: create_model(f"{model.__name__}OfMetrics", __base__=(*_metric_keys(), model), __doc__=model.__doc__)
        for name, model in models.items()
    }


@remembered
def paper_blocks() -> dict[str, Any]:
    """Return the model of the block of each paper, by the name of the paper."""
    return {name: plugins.config_module("papers", name).Config for name in plugins.names("papers")}


@remembered
def config_model() -> type[Model]:
    """Return the model of a config, with the keys of all plug-ins."""
    blocks: dict[str, Any] = {name: (block | None, Field(None)) for name, block in paper_blocks().items()}
    papers = create_model("Papers", __base__=Model, **blocks)
    judgements = Annotated[Judgements, cases_by("reader", judgement_models)]
    sections: dict[str, Any] = {
        # The model is built from the metrics that are there, so mypy does not know it as a type.
        "evaluations": (dict[Name, evaluation_model()], Field({})),  # type: ignore[misc]
        "judgements": (dict[Name, judgements], Field({})),
        "papers": (papers, Field(papers.model_construct())),
    }
    return create_model("Config", __base__=Sections, **sections)


class Sections(Model):
    """The sections of a config that are the same whatever plug-ins there are."""

    name: str = Field("unnamed", description="name of the config, in the footer of every table")
    seed: Seed = Field(description="seed of everything that does not name its own")
    data: str = Field(
        ".",
        description="folder that relative paths start from, but for paths below `resources/toyworld/models/`; itself "
        "relative to the checkout, or to the current folder for an installed package",
    )
    plugins: Annotated[list[FilePath], Unique()] = Field(
        [],
        description="folders of plug-ins outside captionlab (docs/extending.md); plug-ins of installed packages are "
        "there without being named",
    )
    retrieve: bool = Field(
        False,
        description="whether missing data, of which docs/data.md or the config has an address, are fetched before the "
        "jobs that read them",
    )
    limit: Annotated[Annotated[int, Field(ge=2)] | None, Nullable] = Field(
        None,
        description="for a first look: number of images of each split of each corpus, the first ones; what needs more "
        "is cut down, titles say so, and another limit makes everything anew; null: all images",
    )
    corpora: dict[Name, AnyCorpus]
    encoders: dict[Name, AnyEncoder] = Field({})
    regions: dict[Name, AnyRegions] = Field({})
    tags: dict[Name, Tags] = Field({})
    scorers: dict[Name, AnyScorer] = Field({})
    captioners: dict[Name, AnyCaptioner] = Field({})
    decodings: dict[Name, AnyDecoding] = Field({})
    metrics: dict[Name, CommandMetric] = Field({})
    judges: dict[Name, AnyJudge] = Field({})
    comparisons: dict[Name, Comparison] = Field({})
    questions: dict[Name, AnyQuestions] = Field({})
    checkpoints: Checkpoints = Field(Checkpoints.model_construct())
    tracking: Literal["tensorboard", "wandb", "mlflow", "none"] = Field(
        "none",
        description="program that shows curves and captions of trainings while they run; results do not depend on it, "
        "and a change reruns nothing",
    )
    spice: Literal["auto", "required", "off", False] = Field(  # YAML reads a bare off as false
        "auto",
        description="auto: tables are without SPICE, and say so, if its parser models cannot be fetched (from Maven "
        "Central, once); required: that is an error; off: no SPICE",
    )
    venue: VenueName = Field(
        "acl", description="conference, or slides, whose widths and fonts figures have (config/plotting.yaml)"
    )
    own_tables: dict[Name, FilePath] = Field(
        {},
        description="tables of your own: the name of each, and the file of its choice, which the page "
        "`results/tables/make_table.html` writes",
    )
    language: Language | None = None
    study: Study | None = None
    validity: Validity | None = None
    scene_analysis: SceneAnalysis | None = None
