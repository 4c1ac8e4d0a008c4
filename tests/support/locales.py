"""A locale that writes numbers with a comma, made by localedef."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHOWN = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])"


def comma_locale(folder: Path, charmap: str = "UTF-8") -> dict[str, str]:
    """Make a German locale in a folder; return the variables that set it. Skip the test if there is no localedef."""
    if shutil.which("localedef") is None:
        pytest.skip("localedef, which makes locales, is not installed")
    name = f"xx_XX.{charmap}"
    command = ["localedef", "--inputfile", "de_DE", "--charmap", charmap, str(folder / name)]
    subprocess.run(command, check=True, capture_output=True)
    variables = {"LC_ALL": name, "LANG": name, "LOCPATH": str(folder)}
    command = [sys.executable, "-c", SHOWN]
    point = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **variables}).stdout
    assert point == ",\n"
    return variables
