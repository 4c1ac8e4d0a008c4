"""The config's part on language: whose captions are studied, with which tagger and language model."""

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from captionlab import paths
from captionlab.reporting.render import FORMATS
from captionlab.workflow.blocks import Block
from captionlab.workflow.resources import on_disk

if TYPE_CHECKING:
    from captionlab.workflow.experiments import Experiments

TABLES = ("language_statistics", "language_patterns", "language_unigrams")
BUNDLED_TAGGER = "en_ewt_sm"


class Language:
    """The study of language that a config declares; a rule names its methods as input functions."""

    def __init__(self, lab: "Experiments"):
        self.lab = lab
        self.config: Block = lab.config.get("language", {})

    def captioners(self) -> list[str]:
        """Captioners of the evaluation whose language is studied, by name."""
        captioners = self.lab.evaluations[self.config["evaluation"]]["captioners"] if self.config else []
        return sorted(name for name in captioners if self.lab.family(name) != "constructed")

    def fluency(self) -> list[str]:
        """Evaluations in which fluency is held against that before finetuning."""
        return sorted(self.config.get("fluency", [self.config["evaluation"]])) if self.config else []

    def caption_types(self) -> list[str]:
        """Those whose words are told apart. What goes with one type depends on which the others are."""
        return sorted(self.config.get("caption_types", self.captioners()))

    def measured(self, table: str, captioners: Iterable[str] | None = None) -> list[str]:
        """A table of the language stage for each of some captioners; without them, for all of the evaluation."""
        names = self.captioners() if captioners is None else captioners
        return [paths.language(table, name, str(self.config.get("evaluation"))) for name in names]

    def model(self) -> str:
        """The trigram language model: a file that the config names, or what rule train_language_model makes."""
        given = self.config.get("model", {}).get("arpa")
        return on_disk(Path(self.lab.data) / given) if given else paths.LANGUAGE_MODEL

    def corpus(self, table: str) -> list[str]:
        """A table of the corpus that the language model is trained on; none where it is given or not asked for."""
        model = self.config.get("model", {})
        return [paths.corpus(table, model["corpus"])] if "corpus" in model else []

    def splits(self) -> list[str]:
        """Splits of that corpus."""
        return sorted(self.config.get("model", {}).get("splits", []))

    @property
    def tagger(self) -> str:
        """Name of the spaCy model."""
        return str(self.config.get("tagger", BUNDLED_TAGGER))

    def tagger_files(self) -> list[str]:
        """Files of the spaCy model that comes with the workflow; none for an installed one."""
        folder = self.lab.root / "resources" / self.tagger
        return [on_disk(path) for path in sorted(folder.rglob("*")) if path.is_file()]

    def tagger_versions(self) -> dict[str, str]:
        """Versions of spaCy and, when it is an installed package, of the model."""
        return self.lab.versions("spacy", *([] if self.tagger == BUNDLED_TAGGER else [self.tagger]))

    def tables(self) -> list[str]:
        """Every file of the tables on language that the config asks for."""
        names = TABLES if self.config else ()
        return [paths.reporting(f"language/{name}.{ending}") for name in names for ending in FORMATS]

    def missing_files(self) -> Iterator[str]:
        """One sentence for each file that the config names and that is not there."""
        arpa = self.config.get("model", {}).get("arpa")
        if arpa and not (Path(self.lab.data) / arpa).is_file():
            yield f"language.model.arpa: no such file {Path(self.lab.data) / arpa}"
        if self.tagger != BUNDLED_TAGGER and not importlib.util.find_spec(self.tagger):
            yield (
                f"language.tagger: the spaCy model {self.tagger!r} is not installed; "
                f"get it by `python -m spacy download {self.tagger}`"
            )
