"""Environments of users that change what programs write: a locale with decimal commas, LANG=C, and options of Java."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# A command that writes numbers as the locale of its user does, and captions as they are.
PRINTING_COMMAND = """
import json, locale, sys

locale.setlocale(locale.LC_ALL, "")
captions, scores = sys.argv[1:]
with open(captions) as file, open(scores, "w") as out:
    for row in map(json.loads, file):
        print(row["caption"])
        score = locale.format_string("%.3f", len(row["caption"].upper()) / 7)
        print('{"id": ' + json.dumps(row["id"], ensure_ascii=False) + ', "score": ' + score + "}", file=out)
"""
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


# The variables of each environment, by a function of a folder for its locale.
ENVIRONMENTS = {
    "commas": comma_locale,
    "latin": lambda folder: comma_locale(folder, "ISO-8859-1"),
    "C": lambda folder: {"LANG": "C", "LC_ALL": ""},
    "java": lambda folder: {
        "JAVA_TOOL_OPTIONS": "-Duser.language=de -Duser.country=DE",
        "_JAVA_OPTIONS": "-Xmx16m -Dfile.encoding=US-ASCII",
        "JDK_JAVA_OPTIONS": "-Duser.language=tr",
        "CLASSPATH": "/nowhere",
        "LC_NUMERIC": "de_DE.UTF-8",
    },
}
