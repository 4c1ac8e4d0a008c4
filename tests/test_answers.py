"""The table of bad input is of tests that are there."""

from pathlib import Path

from support.answers import TABLE, rows, write

TESTS = Path(__file__).parent


def test_each_row_is_of_a_test():
    for test in {test for test, _ in rows()}:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (TESTS / file).read_text(encoding="utf-8"), test


def test_there_are_many_kinds():
    assert len(rows()) >= 80


def test_rows_are_in_order_and_none_is_twice():
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    keys = list(rows())
    assert keys == sorted(keys)
    assert len(keys) == len(lines)


def test_what_is_written_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("support.answers.TABLE", tmp_path / "table.md")
    write({("a.py::test", "two \\| halves"): "no \\| here", ("a.py::test", "one"): "yes"})
    assert list(rows().items()) == [(("a.py::test", "one"), "yes"), (("a.py::test", "two \\| halves"), "no \\| here")]
