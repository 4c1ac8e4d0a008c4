"""The page to look the study's images through, in a browser: ticks over reloads, and the list that it gives.

Needs Chromium (Debian's package `chromium`). With CAPTIONLAB_SCREENSHOTS=<folder> a picture of the page goes there.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chromium import Page, browser, program
from support.study_stand_in import study_screens

from captionlab.study.pages import read_template, review_page

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
TEMPLATE = Path(__file__).parents[2] / "resources" / "study" / "review.html"
SCREENS = study_screens()
EXCLUDED = [
    "image/99 <i>",
    "past 1",
    "past 2",
]  # the first of them is in a set: the list was changed, the study was not
TICKED = "[...document.querySelectorAll('input:checked')].map((box) => box.value)"


@pytest.fixture
def page(tmp_path) -> Iterator[Page]:
    for name in ("study-1", "study-2"):
        text = review_page(read_template(TEMPLATE), name, SCREENS, EXCLUDED, "images")
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    with browser(tmp_path / "profile", tmp_path) as page:
        page.size(1280, 800, False)
        yield page
    assert page.errors == []


def look(page: Page, folder: Path, study: str) -> None:
    page.open((folder / f"{study}.html").as_uri())


def tick(page: Page, *images: int) -> None:
    for number in images:
        page.run(f"boxes.find((box) => box.value === 'image/{number} <i>').click()")


def listed(page: Page, folder: Path) -> list[str]:
    """The list that the page gives."""
    page.click("button")
    path = folder / "exclude.txt"
    for _ in range(500):
        if path.exists() and path.stat().st_size:
            break
        page.run("new Promise((done) => setTimeout(done, 20))")
    lines = path.read_text().splitlines()
    path.unlink()
    return lines


def test_ticks_outlive_a_reload_and_are_those_of_one_study(page, tmp_path):
    look(page, tmp_path, "study-1")
    assert page.run(TICKED) == []
    tick(page, 3, 14, 15)
    tick(page, 15)
    page.reload()
    assert sorted(page.run(TICKED)) == ["image/14 <i>", "image/3 <i>"]
    assert "2 images ticked, 3 excluded before" in page.text()
    look(page, tmp_path, "study-2")
    assert page.run(TICKED) == []
    tick(page, 20)
    look(page, tmp_path, "study-1")
    assert sorted(page.run(TICKED)) == ["image/14 <i>", "image/3 <i>"]
    if folder := os.environ.get("CAPTIONLAB_SCREENSHOTS"):
        page.screenshot(Path(folder) / "review.png")


def test_the_list_has_what_was_excluded_before(page, tmp_path):
    look(page, tmp_path, "study-1")
    assert listed(page, tmp_path) == EXCLUDED
    tick(page, 3, 99)
    assert listed(page, tmp_path) == [*EXCLUDED, "image/3 <i>"]


def test_without_local_storage_ticks_last_until_a_reload(page, tmp_path):
    page.refuse_storage()
    look(page, tmp_path, "study-1")
    tick(page, 3)
    assert "This browser keeps no ticks" in page.text()
    assert listed(page, tmp_path) == [*EXCLUDED, "image/3 <i>"]
    page.reload()
    assert page.run(TICKED) == []


def test_what_was_kept_by_something_else_is_not_believed(page, tmp_path):
    look(page, tmp_path, "study-1")
    for kept in ("{broken", "5", "{}"):
        page.run(f"localStorage[key] = {kept!r}")
        page.reload()
        assert page.run(TICKED) == []
        assert "0 images ticked" in page.text()
