"""docs/outputs.md has every file that a rule makes, and the columns of every table between rules."""

import re
from collections import Counter

import pytest
from support.outputs_page import files, generator
from support.plans import config_of

FILES = files()


def test_the_page_is_made_of_the_rules_and_the_schemas():
    page = generator()
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.with_lists(text) == text, "python docs/outputs.py writes it anew"


def test_the_docstring_of_a_rule_says_what_each_output_is():
    assert len(FILES) > 150
    assert [file.path for file in FILES if not file.meaning and not file.schema] == []


def test_every_table_between_rules_has_a_schema_with_a_name_of_its_own():
    assert [file.path for file in FILES if file.path.endswith(".parquet") != bool(file.schema)] == []
    columns = {(file.schema.name, tuple(file.schema.columns)) for file in FILES if file.schema}
    assert len(columns) == len({name for name, _ in columns}) > 50


def test_a_heading_is_there_once():
    heads = re.findall(r"^##+ (.+)$", generator().PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [head for head, count in Counter(map(str.lower, heads)).items() if count > 1] == []


@pytest.mark.parametrize("name", ["config", "paper"])
def test_every_file_of_a_plan_is_on_the_page(planned, name):
    made = planned(config_of(name)).made()
    assert len(made) > 500
    assert [path for path in sorted(made) if not any(file.matches(path) for file in FILES)] == []


RULES = '''"""Things: what is made.

Needs: nothing
"""


rule first:
    """Make things.

    one: captionlab.storage.schemas.IMAGES. There are
        few
    two: a folder (docs/data.md)
    large: large things
    small: small things
    """

    input:
        "results/unseen.csv",
    output:
        one="results/{thing}/one.parquet",
        two=directory("results/two"),  # a folder
        tables=expand("results/things_{name}.{ending}", name=sizes(), ending=FORMATS),
    log:
        "results/logs/first.log",


if asked:

    use rule first as second with:
        """Make more things.

        output: the sums of things
        """

        output:
            multiext("results/sums", ".csv", ".md"),
'''


def test_outputs_are_read_from_rules(tmp_path):
    (tmp_path / "things.smk").write_text(RULES)
    made = list(generator().files_of(tmp_path / "things.smk"))
    assert [(file.path, file.meaning, file.schema and file.schema.name, file.rules) for file in made] == [
        ("results/{thing}/one.parquet", "There are few", "images", ["first"]),
        ("results/two/", "a folder (docs/data.md)", None, ["first"]),
        ("results/things_large.{ending}", "large things", None, ["first"]),
        ("results/things_small.{ending}", "small things", None, ["first"]),
        ("results/sums.{csv,md}", "the sums of things", None, ["second"]),
    ]
    assert made[0].matches("results/a/one.parquet")
    assert not made[0].matches("results/a/b/one.parquet")
    assert made[1].matches("results/two")
    assert made[4].matches("results/sums.md")
    assert not made[4].matches("results/sums.tex")
