"""The package that shows a training, by the value of `tracking` in a config, and how to get it."""

from importlib.util import find_spec

# Trackio says that it needs a Pillow below 13, and works with 13 too.
INSTALLED_BY = {
    "tensorboard": "pip install tensorboard",
    "trackio": "echo 'pillow>=13' > overrides.txt && uv pip install --override overrides.txt trackio",
}


def missing(tracking: str) -> str | None:
    """A sentence, when that package is not installed here."""
    if tracking == "none" or find_spec(tracking):
        return None
    return f"tracking is {tracking}, which is not installed: {INSTALLED_BY[tracking]}"
