"""The parser models of SPICE."""

from pathlib import Path

import pytest

from captionlab.evaluation.spice_models import ModelsUnavailable, available_models, fetch_models

ROOT = Path(__file__).parents[2]
POM, CHECKSUMS = ROOT / "envs" / "spice" / "pom.xml", ROOT / "envs" / "spice" / "checksums.sha256"


def spice_models(temporary: Path) -> Path:
    """Return the models of a run of the workflow in this checkout, or else fetch them; skip the test if they cannot."""
    folder = ROOT / "results" / "spice" / "models"
    if not folder.is_dir() or available_models(folder)[1]:
        folder = temporary / "models"
        try:
            fetch_models(POM, CHECKSUMS, folder)
        except ModelsUnavailable as error:
            pytest.skip(str(error))
    return folder
