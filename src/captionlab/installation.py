"""Where the library and the project are, in a checkout and in an installed package.

The project is what a run reads beside the library: Snakefile, rules, scripts, configs, profiles, environments and
resources. In a checkout it is the whole checkout, whose library is in src/captionlab. In an installed package it is the
folder `project` of the library, where pyproject.toml puts it. Nothing is written into an installed package.
"""

from importlib.metadata import version as version_of
from pathlib import Path

NAME = "captionlab"
_IN_CHECKOUT = Path("src", NAME)
LIBRARY = Path(__file__).parent
PROJECT = LIBRARY / "project" if (LIBRARY / "project").is_dir() else LIBRARY.parents[1]


def is_installed(project: Path | None = None) -> bool:
    """Return whether a project, by default the project of this process, is of an installed package."""
    return not ((project or PROJECT) / "src").is_dir()


def installed_packages(project: Path) -> dict[str, Path]:
    """Return the folder of the library by its name, if the project is of an installed package; else nothing."""
    return {NAME: project.parent} if is_installed(project) else {}


def start_of(project: Path) -> Path:
    """Return the folder that relative paths of a config start from: the checkout, or else the current folder."""
    return Path.cwd() if is_installed(project) else project


def name_of(path: Path) -> Path:
    """Return the path of a file from the root of a checkout, if the file is of the project or the library."""
    if path.is_relative_to(PROJECT):
        return path.relative_to(PROJECT)
    return _IN_CHECKOUT / path.relative_to(LIBRARY) if path.is_relative_to(LIBRARY) else path


def file_of(name: Path) -> Path:
    """Return the file of the project or the library that has this path from the root of a checkout."""
    return LIBRARY / name.relative_to(_IN_CHECKOUT) if name.is_relative_to(_IN_CHECKOUT) else PROJECT / name


def call() -> str:
    """Return how a user calls captionlab: in a checkout by its script `lab`."""
    return NAME if is_installed() else "./lab"


def version() -> str:
    """Return the version of captionlab, which pyproject.toml states."""
    return version_of(NAME)
