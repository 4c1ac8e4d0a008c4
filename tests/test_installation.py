"""Where the library and the project are: here in a checkout, and as functions of the folders of a package."""

from pathlib import Path

import pytest

from captionlab import installation
from captionlab.jobs.provenance import commit

ROOT = Path(__file__).parents[1]


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """The folder of an installed package."""
    library = tmp_path / "site-packages" / "captionlab"
    (library / "project").mkdir(parents=True)
    monkeypatch.setattr(installation, "LIBRARY", library)
    monkeypatch.setattr(installation, "PROJECT", library / "project")
    return library


def test_a_checkout_is_the_project():
    assert installation.PROJECT == ROOT
    assert installation.LIBRARY == ROOT / "src" / "captionlab"
    assert not installation.is_installed()
    assert installation.start_of(ROOT) == ROOT
    assert installation.installed_packages(ROOT) == {}
    assert installation.call() == "./lab"


def test_files_of_a_package_have_the_names_of_a_checkout(package):
    for name in ("resources/sources.yaml", "src/captionlab/papers/hl/published.csv"):
        of_checkout, of_package = ROOT / name, installation.file_of(Path(name))
        assert of_checkout.is_file()
        assert of_package.is_relative_to(package)
        assert installation.name_of(of_package) == Path(name)
    assert installation.name_of(Path("/data/a.json")) == Path("/data/a.json")


def test_an_installed_package_has_a_version_and_the_current_folder(package, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert installation.start_of(package / "project") == tmp_path
    assert installation.installed_packages(package / "project") == {"captionlab": package}
    assert installation.call() == "captionlab"
    assert commit() == f"v{installation.version()}"
