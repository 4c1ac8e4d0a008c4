"""The spaCy model that tags captions."""

from pathlib import Path
from typing import NamedTuple

from captionlab.config.settings import Settings
from captionlab.graph.software import own

BUNDLED_TAGGER = "en_ewt_sm"


class Tagger(NamedTuple):
    """The name of a spaCy model, its files if it comes with the workflow, and the libraries that are installed."""

    name: str
    files: list[str]
    libraries: list[str]


def tagger_of(settings: Settings, root: Path) -> Tagger:
    """Return the model that the config names; by default the model that comes with the workflow."""
    name = str(settings.language.tagger) if settings.language else BUNDLED_TAGGER
    files = [own(path) for path in sorted((root / "resources" / name).rglob("*")) if path.is_file()]
    return Tagger(name, files, ["spacy", *([] if name == BUNDLED_TAGGER else [name])])
