from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Small cuts of public data sets beside the repository; tests that need them are skipped without them."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}")
    return folder
