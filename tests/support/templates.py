"""The templates of docs/extending.md: files that a page prints, each below its path."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
PRINTED = re.compile(r"^`(src/\S+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def install(checkout: Path, folder: str) -> Path:
    """Write the files that the page prints for a folder of captionlab into a copy of the checkout; return the folder.

    Raises ValueError if the page prints none.
    """
    return install_into(checkout / "src" / "captionlab", folder)


def install_into(package: Path, folder: str) -> Path:
    """Write the files that the page prints for a folder of captionlab into a folder of plug-ins; return their folder.

    Raises ValueError if the page prints none.
    """
    inside = Path("src/captionlab") / folder
    files = {Path(name): text for name, text in PRINTED.findall(PAGE.read_text(encoding="utf-8"))}
    if not (own := {name: text for name, text in files.items() if name.parent == inside}):
        raise ValueError(f"{PAGE} prints no file of {inside}")
    (package / folder).mkdir(parents=True)
    for name, text in own.items():
        (package / folder / name.name).write_text(text, encoding="utf-8")
    return package / folder
