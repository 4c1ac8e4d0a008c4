"""captionlab: train, finetune, probe and evaluate image captioners in one workflow.

The names of `__all__` are the Python API (docs/api.md). Each is imported when it is first used, so that `import
captionlab` takes no time.
"""

from importlib import import_module
from typing import Any

# Each name of the API -> the module that defines it.
_API = {
    "compare": "captionlab.scoring.scores",
    "intervals": "captionlab.library.intervals",
    "load_captioner": "captionlab.library.captioner",
    "load_reward": "captionlab.library.rewards",
    "open_run": "captionlab.library.runs",
    "retrieve": "captionlab.library.retrieval",
    "score": "captionlab.scoring.scores",
}
__all__ = [*_API, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a name of the API. Raises AttributeError for any other name."""
    if name == "__version__":
        from importlib.metadata import version  # takes longer to import than all else here

        return version("captionlab")
    if name not in _API:
        raise AttributeError(f"captionlab has no {name!r}; it has {', '.join(_API)}")
    from captionlab.library.installed import models_needed

    with models_needed(f"captionlab.{name}"):
        return getattr(import_module(_API[name]), name)


def __dir__() -> list[str]:
    """Return the names of the API."""
    return sorted(__all__)
