"""The config's part on language: whose captions are studied, with what, and what others are constructed of."""

import importlib.util
from collections.abc import Iterable, Iterator

from captionlab import paths
from captionlab.reporting.render import FORMATS
from captionlab.workflow.basis import Basis, Wildcards, on_disk
from captionlab.workflow.blocks import Block, normalise

TABLES = ("language_statistics", "language_patterns", "language_unigrams")
# Tables of the captions of a captioner beside their tags.
MEASURES = ("measures", "statistics", "patterns", "unigrams")
BUNDLED_TAGGER = "en_ewt_sm"


class Language:
    """The study of language that a config declares."""

    def __init__(self, basis: Basis):
        self.basis = basis
        self.config: Block = basis.config.get("language", {})
        self.model_block: Block = self.config.get("model", {})
        self.tagger = str(self.config.get("tagger", BUNDLED_TAGGER))

    def captioners(self) -> list[str]:
        """Captioners of the evaluation whose language is studied, by name."""
        captioners = self.basis.evaluations[self.config["evaluation"]]["captioners"] if self.config else []
        return sorted(name for name in captioners if self.basis.family(name) != "constructed")

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
        return self.basis.given(self.model_block["arpa"]) if "arpa" in self.model_block else paths.LANGUAGE_MODEL

    def measured_by(self) -> dict[str, str]:
        """Return what captions are measured by; nothing if the config studies no language, for they are only tagged."""
        if not self.config:
            return {}
        published = self.basis.shipped("config/published/probing_patterns.csv")
        return {"model": self.model(), "tokens": paths.evaluation("tokens"), "published": published}

    def measures(self) -> dict[str, str]:
        """Return the tables of what is measured, likewise."""
        return {table: paths.language(table) for table in MEASURES} if self.config else {}

    def corpus(self, table: str) -> list[str]:
        """A table of the corpus that the language model is trained on; none where it is given or not asked for."""
        return [paths.corpus(table, self.model_block["corpus"])] if "corpus" in self.model_block else []

    def splits(self) -> list[str]:
        """Splits of that corpus."""
        return sorted(self.model_block.get("splits", []))

    def tagger_files(self) -> list[str]:
        """Files of the spaCy model that comes with the workflow; none for an installed one."""
        folder = self.basis.root / "resources" / self.tagger
        return [on_disk(path) for path in sorted(folder.rglob("*")) if path.is_file()]

    def tagger_libraries(self) -> list[str]:
        """SpaCy and, when it is an installed package, the model."""
        return ["spacy", *([] if self.tagger == BUNDLED_TAGGER else [self.tagger])]

    def tables(self) -> list[str]:
        """Every file of the tables on language that the config asks for."""
        names = TABLES if self.config else ()
        return [paths.reporting(f"language/{name}.{ending}") for name in names for ending in FORMATS]

    def files(self) -> Iterator[tuple[str, str]]:
        """The language model, where the config names its file, by its key."""
        if "arpa" in self.model_block:
            yield "language.model.arpa", self.model_block["arpa"]

    def missing_tagger(self) -> Iterator[str]:
        """A sentence where the spaCy model that the config names is not installed."""
        if self.tagger != BUNDLED_TAGGER and not importlib.util.find_spec(self.tagger):
            yield (
                f"language.tagger: the spaCy model {self.tagger!r} is not installed; "
                f"get it by `python -m spacy download {self.tagger}`"
            )


class Construction:
    """Captioners of the family `constructed`: what the job reads that constructs their captions."""

    def __init__(self, basis: Basis):
        self.basis = basis

    def captions(self, wildcards: Wildcards) -> str:
        """Captions that others are constructed of."""
        return paths.captions(self._block(wildcards)["captions_of"], wildcards.evaluation)

    def tags(self, wildcards: Wildcards) -> str:
        """The same, tagged."""
        return paths.language("tags", self._block(wildcards)["captions_of"], wildcards.evaluation)

    def block(self, wildcards: Wildcards) -> Block:
        """What constructed captions depend on, the captioners aside."""
        block, kept = self._block(wildcards), ("replacements", "templates", "nouns")
        return normalise({name: block[name] for name in kept if name in block})

    def _block(self, wildcards: Wildcards) -> Block:
        return dict(self.basis.captioners[wildcards.captioner])
