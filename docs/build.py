"""Build the documentation site: python docs/build.py [FOLDER] [--results FOLDER]; `./lab docs` is the same.

The site has the Markdown files of the repository, a reference of the Python packages from their docstrings, and a
gallery of the tables and figures of a run. A warning, as of a link that leads nowhere, is an error.
"""

import argparse
import logging
import sys
from pathlib import Path

import properdocs.replacement  # noqa: F401  # plugins import mkdocs, whose place properdocs takes
from properdocs.commands.build import build
from properdocs.config import load_config

ROOT = Path(__file__).parents[1]
# In every folder that a build has taken. Hidden files outlast the emptying of a folder before a build.
MARKER = ".captionlab-site"


def main() -> None:
    """Read the command line and build; ends with 1 and a sentence where that is not possible."""
    parser = argparse.ArgumentParser(prog="./lab docs", description="Build the documentation site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site", help="where to (default: site/)")
    parser.add_argument(
        "--results", type=Path, help="results of a run, with tables/ in it, for the gallery (default: results/)"
    )
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    results = (arguments.results or ROOT / "results").resolve()
    if arguments.results and not (results / "tables" / "index.md").is_file():
        sys.exit(f"{results} has no tables/index.md; name the folder results/ of a run that made all of its tables")
    if folder.exists() and not is_free(folder):
        sys.exit(f"{folder} holds something else than this site, which would be deleted; name an empty or a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()  # before the build, so that one that failed can be repeated
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    config = load_config(
        str(ROOT / "properdocs.yml"),
        site_dir=str(folder), strict=True, extra={"results": str(results)},
    )  # fmt: skip
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    print(f"The site is in {folder} (open index.html)")


def is_free(folder: Path) -> bool:
    """Return whether a build may empty a folder: it is empty or was made by this program."""
    return not any(folder.iterdir()) or (folder / MARKER).is_file()


if __name__ == "__main__":
    main()
