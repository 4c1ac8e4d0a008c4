"""config/README.md, docs/captioners.md and config/schema.json say what the models say."""

import json
import re

import jsonschema
import pytest
import yaml

from captionlab.config.checking import check
from captionlab.config.documentation import (
    CAPTIONERS,
    README,
    SCHEMA,
    json_schema,
    parts,
    with_families,
    with_tables,
)
from captionlab.installation import PROJECT

STALE = "run `python -m captionlab.config.documentation`"


def test_the_tables_of_keys_are_up_to_date():
    text = README.read_text(encoding="utf-8")
    assert with_tables(text) == text, STALE


def test_the_table_of_captioners_is_up_to_date():
    text = CAPTIONERS.read_text(encoding="utf-8")
    assert with_families(text) == text, STALE
    assert "| `vinvl` | regions and tags | yes |" in text


def test_the_schema_for_editors_is_up_to_date():
    assert SCHEMA.read_text(encoding="utf-8") == json_schema(), STALE


def test_every_part_has_a_table():
    """The parts include each paper, so the block of a new paper is shown."""
    assert {*re.findall(r"<!-- keys: (\S+) -->", README.read_text(encoding="utf-8"))} == {*parts()}


def test_a_table_says_who_has_a_key_and_what_it_is():
    rows = with_tables("<!-- keys: decoding -->\n<!-- end -->").splitlines()
    assert (
        "| `beam` | `beams` | number of captions that are kept of each image | whole number from 2 | required |" in rows
    )
    assert "|  | `kind` |  | `greedy`, `sample`, `beam` | required |" in rows
    assert next(row for row in rows if "`rules`" in row).endswith("| `transformers` |")


@pytest.fixture(scope="module")
def editor():
    """What an editor knows of a config."""
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def config_file(name):
    return yaml.safe_load((PROJECT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (PROJECT / "config").glob("*.yaml") if path.stem != "plotting")
)
def test_editors_find_the_schema_of_a_config_and_accept_the_config(editor, name):
    """Some configs lie on top of the default config and hold parts of blocks alone."""
    first = (PROJECT / "config" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=schema.json"
    assert [error.message for error in editor.iter_errors(config_file(name))] == []


def test_a_part_of_a_block_may_have_no_key_that_no_family_has(editor):
    assert editor.is_valid({"captioners": {"toy-fc": {"seeds": [1, 2], "run": None}}})
    assert not editor.is_valid({"captioners": {"toy-fc": {"seeds": [1, 2], "colour": "red"}}})
    assert not editor.is_valid({"captioners": {"toy-fc": {"family": "clipcap", "seeds": [1, 2], "colour": "red"}}})


@pytest.mark.parametrize(
    ("section", "block"),
    [
        ("captioners", {"family": "clipcap", "encoder": "clip", "weights": "w", "tokenizer": "t"}),
        ("captioners", {"family": "human"}),
        ("encoders", {"family": "clip", "weights": "w"}),
        ("scorers", {"family": "clip", "encoder": "clip"}),
        ("corpora", {"reader": "coco", "annotations": {"test": "a.json"}, "images": "photos"}),
        ("decodings", {"kind": "greedy", "max_tokens": 5}),
    ],
)
def test_an_unknown_key_is_refused_by_the_check_and_by_editors(editor, section, block):
    config = config_file("config")
    config.setdefault(section, {})["mine"] = block
    accepted = check(config).sentences
    assert not [sentence for sentence in accepted if f"{section}.mine has" in sentence]
    assert editor.is_valid(config)
    block["colour"] = "red"
    assert any(f"{section}.mine has no key 'colour'" in sentence for sentence in check(config).sentences)
    assert not editor.is_valid(config)
