"""The tables of keys in config/README.md are those of the schema."""

from captionlab.workflow.schema import Schema

from captionlab.workflow.keys import CAPTIONERS, README, SCHEMA, with_families, with_tables


def test_the_readme_has_every_key_as_the_schema_has_it():
    text = README.read_text(encoding="utf-8")
    assert with_tables(text, Schema(SCHEMA)) == text, "run `python -m captionlab.workflow.keys`"


def test_what_can_be_done_with_a_family_is_what_it_declares():
    text = CAPTIONERS.read_text(encoding="utf-8")
    assert with_families(text) == text, "run `python -m captionlab.workflow.keys`"
    assert "| `vinvl` | regions and tags | yes |" in text


def test_every_part_has_a_table():
    """A part that a stranger adds is shown: each union and each section is between marks."""
    schema, text = Schema(SCHEMA), README.read_text(encoding="utf-8")
    # Of a model of another run, what any family has.
    unions = {
        part["otherwise"]["$ref"].rpartition("/")[2] if "otherwise" in part else name
        for name, part in schema.definitions.items()
        if isinstance(part.get("union"), str)
    }
    papers = {f"papers.{name}" for name in schema.root["properties"]["papers"]["properties"]}
    shown = {line.split()[2] for line in text.splitlines() if line.startswith("<!-- keys: ")}
    sections = {"config", "language", "study", "validity", "scene_analysis", "evaluation", "tags", "checkpoints"}
    assert unions - {"objective", "objective_of_references"} | papers | sections <= shown


def test_a_table_says_who_has_a_key_and_what_it_is():
    rows = with_tables("<!-- keys: decoding -->\n<!-- end -->", Schema(SCHEMA)).splitlines()
    assert "| `beam` | `beams` | captions that are kept of each image | whole number from 2 | required |" in rows
    assert "|  | `kind` |  | `greedy`, `sample`, `beam` | required |" in rows
    assert next(row for row in rows if "`rules`" in row).endswith("| `transformers` |")
