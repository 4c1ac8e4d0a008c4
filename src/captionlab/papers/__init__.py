"""Papers as plug-ins (captionlab.reporting.paper): their rules, tables, figures, measurements and claims."""

import re
from pathlib import Path

from captionlab.plugins import PluginError, names

FOLDER = Path(__file__).parent
# What every paper has.
PARTS = ("config.py", "rules.smk", "tables.py", "evidence.py", "claims.yaml", "published.csv")


def check_papers() -> None:
    """Raise PluginError for a paper whose folder has no usable name or lacks what every paper has."""
    for name in names("papers"):
        if not re.fullmatch("[a-z0-9]+", name):
            raise PluginError(f"captionlab.papers: the name {name!r} must be of lower-case letters and digits")
        if missing := [file for file in PARTS if not (FOLDER / name / file).is_file()]:
            raise PluginError(f"{FOLDER / name} lacks {missing[0]}; captionlab.reporting.paper says what a paper needs")
