"""The config of a run as typed blocks: one for each training of a block with seeds, and one for each snapshot."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from captionlab import plugins
from captionlab.config import walking
from captionlab.config.model import Block
from captionlab.config.walking import ValueType

SECTIONS = (
    "corpora",
    "encoders",
    "regions",
    "tags",
    "scorers",
    "captioners",
    "decodings",
    "evaluations",
    "judgements",
    "metrics",
    "judges",
    "comparisons",
    "questions",
)


class Settings:
    """The sections of a config, each block a model; `config` was checked and has all defaults."""

    def __init__(self, config: Block, data: str, trainings: Mapping[str, list[str]]):
        self.name: str = config["name"]
        self.data = data
        self.trainings = trainings
        self.seed: int = config["seed"]
        self.limit: int | None = config["limit"]
        self.spice: str = config["spice"] or "off"
        self.venue: str = config["venue"]
        blocks = {section: config[section] for section in SECTIONS}
        found = {section: _typed_section(section, of_section) for section, of_section in blocks.items()}
        self.corpora: Mapping[str, Any] = found["corpora"]
        self.encoders: Mapping[str, Any] = found["encoders"]
        self.regions: Mapping[str, Any] = found["regions"]
        self.tags: Mapping[str, Any] = found["tags"]
        self.scorers: Mapping[str, Any] = found["scorers"]
        self.captioners: Mapping[str, Any] = found["captioners"]
        self.decodings: Mapping[str, Any] = found["decodings"]
        self.evaluations: Mapping[str, Any] = found["evaluations"]
        self.judgements: Mapping[str, Any] = found["judgements"]
        self.metrics: Mapping[str, Any] = found["metrics"]
        self.judges: Mapping[str, Any] = found["judges"]
        self.comparisons: Mapping[str, Any] = found["comparisons"]
        self.questions: Mapping[str, Any] = found["questions"]
        self.own_tables: Mapping[str, str] = config["own_tables"]
        one = walking.root()
        parts = ("language", "study", "validity", "scene_analysis")
        present = {name: typed(one.under(name), config[name]) for name in parts if config.get(name)}
        self.language: Any = present.get("language")
        self.study: Any = present.get("study")
        self.validity: Any = present.get("validity")
        self.scene_analysis: Any = present.get("scene_analysis")
        self.papers: Any = typed(one.under("papers"), config.get("papers") or {})

    def asked_papers(self) -> list[str]:
        """Return the papers that the config asks for, and papers with tables of other sections that it has."""
        return [name for name, facts in plugins.facts("papers").items() if self._asks_for(name, facts.sections)]

    def _asks_for(self, paper: str, sections: Sequence[str]) -> bool:
        return getattr(self.papers, paper) is not None or any(getattr(self, section) for section in sections)


def _typed_section(section: str, blocks: Block) -> dict[str, Any]:
    part = walking.section(section).of(blocks)
    found = {name: typed(part.under(name), block) for name, block in blocks.items()}
    # A set of judgements is a corpus, a captioner and an evaluation too, for which there are no models.
    return {name: SimpleNamespace(**block) if isinstance(block, dict) else block for name, block in found.items()}


def typed(part: ValueType, value: Any) -> Any:
    """Return a value that was checked as a model, or as a list or mapping of models, without checking it again."""
    part = part.of(value)
    if isinstance(value, list):
        return [typed(part.under(index), item) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    found = {key: typed(part.under(key), item) for key, item in value.items()}
    return part.model.model_construct(**found) if part.model is not None else found
