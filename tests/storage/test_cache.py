"""What runs on a machine share."""

import threading

import pytest

from captionlab.storage.cache import cache_folder, keep_part, kept_parts, once


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "captionlab"


def made(folder, text, key="key", **options):
    """Whether the two files of a run had to be made, and what is in them."""
    files, calls = [folder / "a" / "one", folder / "b" / "two"], []

    def make():
        calls.append(text)
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text} {file.name}")

    once({"of": key}, files, make, **options)
    return len(calls), [file.read_text() for file in files]


@pytest.mark.parametrize("link", [False, True])
def test_what_an_earlier_run_made_is_taken(cache, tmp_path, link):
    assert made(tmp_path / "first", "x", link=link) == (1, ["x one", "x two"])
    assert made(tmp_path / "second", "y", link=link) == (0, ["x one", "x two"])
    assert made(tmp_path / "third", "z", key="another") == (1, ["z one", "z two"])
    alike = (tmp_path / "first/a/one").stat().st_ino == (tmp_path / "second/a/one").stat().st_ino
    assert alike == link
    kept = sorted(path.name for path in cache.rglob("*") if path.is_file())
    assert kept == ["digests.json", "digests.json", "one", "one", "two", "two"]


def test_what_was_damaged_is_made_again(cache, tmp_path):
    made(tmp_path / "first", "x")
    next(cache.rglob("one")).write_text("damaged")
    assert made(tmp_path / "second", "y") == (1, ["y one", "y two"])
    next(cache.rglob("digests.json")).write_text("{")
    assert made(tmp_path / "third", "z") == (1, ["z one", "z two"])
    assert made(tmp_path / "fourth", "w") == (0, ["z one", "z two"])


def test_what_fails_is_not_kept(cache, tmp_path):
    with pytest.raises(ZeroDivisionError):
        once("key", [tmp_path / "one"], lambda: 1 / 0)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_none(cache, tmp_path, caplog):
    cache.parent.write_text("a file where the folder should be")
    assert made(tmp_path / "first", "x") == (1, ["x one", "x two"])
    assert "Not kept for other runs" in caplog.text
    assert made(tmp_path / "second", "y") == (1, ["y one", "y two"])


def test_parts_of_all_runs_are_kept(cache, tmp_path):
    assert kept_parts("key") == []
    for place, text in enumerate(("x", "y", "x")):
        file = tmp_path / f"{place}.txt"
        file.write_text(text)
        keep_part("key", file)
    assert sorted(part.read_text() for part in kept_parts("key")) == ["x", "y"]
    assert {part.suffix for part in kept_parts("key")} == {".txt"}
    assert kept_parts("another") == []


def test_parts_that_cannot_be_kept_are_none(cache, tmp_path, caplog):
    cache.parent.write_text("a file where the folder should be")
    (tmp_path / "one").write_text("x")
    keep_part("key", tmp_path / "one")
    assert "Not kept for other runs" in caplog.text
    assert kept_parts("key") == []


def test_two_runs_at_once(cache, tmp_path, caplog):
    both, files = threading.Barrier(2), [tmp_path / "0" / "one", tmp_path / "1" / "one"]

    def run(file):
        def make():
            both.wait(60)  # neither found anything
            file.parent.mkdir()
            file.write_text(file.parent.name)

        once("key", [file], make)

    threads = [threading.Thread(target=run, args=[file]) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [file.read_text() for file in files] == ["0", "1"]
    (kept,) = cache.rglob("one")
    assert kept.read_text() in "01"
    assert [path.name for path in cache.iterdir()] == [kept.parent.name]
    assert caplog.text == ""


def test_without_the_variable_it_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "captionlab"
