"""captionlab: train, finetune, probe and evaluate image captioners in one workflow.

The names of `__all__` are the Python API (docs/api.md). Each is imported when it is first used, so that `import
captionlab` takes no time.
"""

from importlib import import_module
from typing import Any

# Each name of the API -> the module that defines it.
_API = {
    "compare": "captionlab.scoring.scores",
    "score": "captionlab.scoring.scores",
}
__all__ = [*_API]


def __getattr__(name: str) -> Any:
    """Import a name of the API. Raises AttributeError for any other name."""
    if name not in _API:
        raise AttributeError(f"captionlab has no {name!r}; it has {', '.join(_API)}")
    return getattr(import_module(_API[name]), name)


def __dir__() -> list[str]:
    """Return the names of the API."""
    return sorted(_API)
