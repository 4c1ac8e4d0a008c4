"""Config files that Snakemake could not read: one sentence with file, line and column before it starts."""

import random
import re

import pytest
from snakemake.common.configfile import load_configfile

from captionlab.commands.main import main
from captionlab.config.config_files import check_config_files, check_readable
from captionlab.config.whole import ConfigError

CONTENTS = {
    "a bracket that stays open": (b"corpora:\n  toy: [1, 2\nseed: 1\n", ", line 3, column 5: while parsing"),
    "a quote that stays open": (b'spice: "auto\n', ", line 2, column 1: while scanning a quoted scalar of line 1"),
    "JSON": (b'{"corpora": [}', ", line 1, column 14: while parsing"),
    "a colon in a text": (b"corpora:\n  a: b: c\n", ", line 2, column 7: mapping values are not allowed here; "),
    "a tab at the start of a line": (b"corpora:\n\ttoy: {}\n", ", line 2, column 1: found character '\\t' that "),
    "a tab at the end of a line": (b"spice: auto\t\n", ", line 1, column 12: found character '\\t' that "),
    "a sign at the start of a text": (b"spice: @auto\n", ", line 1, column 8: found character '@' that "),
    "braces of a template": (b"spice: {{auto}}\n", ", line 1, column 9: while constructing a mapping of line 1, "),
    "an alias without anchor": (b"a: *b\n", ", line 1, column 4: found undefined alias 'b'; "),
    "a tag of Python": (b"a: !!python/tuple [1]\n", ", line 1, column 4: could not determine a constructor "),
    "a date that does not exist": (b"a:\n  b: 2024-13-45\n", ", line 2, column 6: this is no timestamp: month must"),
    "a number that does not exist": (b"a: !!float\n", ", line 1, column 4: this is no float: "),
    "two documents": (b"a: 1\n---\nb: 1\n", ", line 2, column 1: expected a single document in the stream of line 1, "),
    "a zero byte": (b"a: 1\nb: \0\n", ", line 2, column 4: a character that YAML does not allow; delete it"),
    "latin-1": (b"corpora:\n  caf\xe9: {}\n", ", line 2, column 6: the byte 0xe9 is not UTF-8; save the file as UTF-8"),
    "UTF-16": ("seed: 1\n".encode("utf-16"), ", line 1, column 1: the byte 0xff is not UTF-8; save the file as UTF-8"),
    "nothing": (b"", " has no keys; write some, such as `seed: 1`, or leave the file out"),
    "comments": (b"# seed: 1\n", " has no keys; write some, such as `seed: 1`, or leave the file out"),
    "a list": (b"- corpora\n", " is a list, and not keys with values; write it as in `seed: 1`"),
    "a word": (b"corpora\n", " is a single value, and not keys with values; write it as in `seed: 1`"),
    "a key that is there twice": (b"seed: 1\nspice: no\nseed: 2\n", ": the key seed stands in line 1 and in line 3; "),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_file_that_is_no_config(tmp_path, kind):
    content, message = CONTENTS[kind]
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"{file}{message}")) as raised:
        check_readable(file)
    assert "\n" not in str(raised.value)


def test_a_config_that_is_missing_or_a_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no config file"):
        check_readable(tmp_path / "away.yaml")
    with pytest.raises(ValueError, match="is a folder; give a config file in it"):
        check_readable(tmp_path)


def test_nothing_else_is_refused_and_nothing_less(tmp_path):
    pieces = [*"ab: \n\t{}[],#'\"|>!@%1?=", "a: ", "b: ", "- ", "&x ", "*x", "<<: ", "\n  ", "---\n", "é", "2024-13-01"]
    draw, file, kinds = random.Random(1), tmp_path / "drawn.yaml", set()
    for _ in range(2000):
        file.write_text("".join(draw.choices(pieces, k=draw.randint(1, 8))), encoding="utf-8")
        try:
            is_read = isinstance(load_configfile(file), dict)
        except Exception:  # of any kind, which is why a file is checked before
            is_read = False
        try:
            check_readable(file)
            is_right = True
        except ValueError as error:
            is_right = "YAML takes the last value" in str(error)
        kinds.add((is_read, is_right))
    assert kinds == {(True, True), (False, False)}


@pytest.mark.parametrize("command", ["tables", "status", "data"])
def test_commands_say_where_a_config_is_wrong(tmp_path, capsys, answers, command):
    file = tmp_path / "bad.yaml"
    file.write_text("corpora:\n\ttoy: {}\n")
    assert main([command, *(["--configfile"] if command != "data" else []), str(file)]) > 0
    answers.hold(f"a tab in a config for {command}", capsys.readouterr().err, "bad.yaml, line 2, column 1")


def test_a_config_that_snakemake_reads_but_nothing_else_does(tmp_path):
    file = tmp_path / "tuple.yaml"
    file.write_text("corpora: !!python/tuple [1]\n")
    with pytest.raises(ConfigError, match="could not determine a constructor"):
        check_config_files({}, [file], {})
