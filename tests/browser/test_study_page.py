"""The page of the study as participants meet it, from consent to the file of answers, on a desktop and on a phone.

Needs Chromium (Debian's package `chromium`). With CAPTIONLAB_SCREENSHOTS=<folder> pictures of the screens go there.
"""

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow.compute as pc
import pytest
from support.chromium import PATIENCE, Page, browser, program
from support.study_stand_in import study_screens, write_images

from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table
from captionlab.study.pages import consent_text, file_name, pictures, read_template, study_page, write_pictures
from captionlab.study.responses import read_answers
from captionlab.study.stimuli import study_name

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
RESOURCES = Path(__file__).parents[2] / "resources" / "study"
DESKTOP, PHONE = (1280, 800, False), (390, 844, True)
# A quarter of the paper's screens, which are 100 questions and five controls: each is shown for a third of a second.
SCREENS = study_screens(sets=20, controls=5, block=20)
TOTAL = 25
STUDY = study_name(SCREENS)
FIRST = sorted((s for s in SCREENS if s["block"] == 1), key=lambda s: s["question"])


class Server:
    """A static server of the page's folder that takes answers, and can fail, or keep files back until it goes on."""

    def __init__(self, folder: Path):
        self.folder, self.received, self.failing, self.broken = folder, [], False, set()
        self.late, self.on = set(), Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = outer.folder / self.path.split("?")[0].lstrip("/")
                found = path.is_file() and path.name not in outer.broken
                if path.name in outer.late:
                    outer.on.wait(PATIENCE)
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8" if path.suffix == ".html" else "image/jpeg")
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                if found:
                    self.wfile.write(path.read_bytes())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if not outer.failing:
                    outer.received.append(body)
                self.send_response(500 if outer.failing else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("web")
    ids = sorted({image for screen in SCREENS for image in screen["images"]})
    write_images(folder / "images.parquet", ids)
    needed = {image for screen in SCREENS if screen["block"] < 2 for image in screen["images"]}
    table = read_table(folder / "images.parquet", IMAGES, ["image_id", *LOCATION])
    write_pictures(pictures(table.filter(pc.is_in(table["image_id"], pc.unique([*needed])))), [folder / "images"])
    template, consent = (
        read_template(RESOURCES / "page.html"),
        consent_text((RESOURCES / "consent.txt").read_text(), "rendered", "toy"),
    )
    server = Server(folder)
    (folder / "index.html").write_text(study_page(template, STUDY, SCREENS, consent, None))
    (folder / "post.html").write_text(study_page(template, STUDY, SCREENS, consent, f"{server.address}/answers"))
    yield server
    server.http.shutdown()


@pytest.fixture
def page(tmp_path, request) -> Iterator[Page]:
    with browser(tmp_path / "profile", tmp_path) as page:
        page.size(*DESKTOP)
        yield page
    assert page.errors == []


def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("CAPTIONLAB_SCREENSHOTS"):
        page.screenshot(Path(folder) / f"{name}.png")


def begin(page: Page) -> None:
    """From consent to the first question."""
    page.button("I agree and take part")
    page.button("Show me an example")
    answer(page, 3)
    page.wait("document.body.innerText.includes('That was the example')")
    page.button("Begin")
    ready(page, 1)


def ready(page: Page, question: int) -> None:
    """Until a question is shown, its images are there and it takes answers."""
    page.wait(f"document.body.innerText.includes('{question} of {TOTAL}')")
    settled(page)


def settled(page: Page) -> None:
    page.wait("document.querySelector('.choice:enabled') && performance.now() - shownAt > SETTLE")


def answer(page: Page, place: int, how: str = "click") -> None:
    settled(page)
    if how == "key":
        page.key(str(place % 10), str(place % 10))
    else:
        page.click(".choice", place - 1, touch=how == "touch")


def stored(page: Page) -> dict[str, Any]:
    """What the page keeps on the device."""
    return json.loads(page.run("JSON.stringify(localStorage)"))


def scroll_free(page: Page) -> bool:
    return page.run(
        "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    )


def place_for(question: int) -> int:
    """What the participant of these tests answers: right, but for every fourth question."""
    screen = FIRST[question - 1]
    return screen["position"] % 10 + 1 if screen["role"] == "question" and question % 4 == 0 else screen["position"]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize(("device", "name"), [(DESKTOP, "desktop"), (PHONE, "phone")])
def test_from_consent_to_the_file(server, page, tmp_path, device, name, keeps):
    page.size(*device)
    if not keeps:
        page.refuse_storage()
    page.open(f"{server.address}/index.html?participant=anna-{name}&block=1")
    assert page.run("document.querySelector('input').value") == f"anna-{name}"
    shoot(page, f"{name}-consent")
    page.button("I agree and take part")
    assert ("Your answers are kept on this device" in page.text()) == keeps
    assert ("when you close or reload it, your answers are lost" in page.text()) != keeps
    shoot(page, f"{name}-instructions" if keeps else f"{name}-instructions-without-storage")
    page.button("Show me an example")
    settled(page)
    shoot(page, f"{name}-example")
    answer(page, 3)
    page.wait("document.body.innerText.includes('That was the example')")
    page.button("Begin")
    tall = []
    for question in range(1, TOTAL + 1):
        ready(page, question)
        screen = FIRST[question - 1]
        assert page.run("document.querySelector('.caption').textContent") == f"“{screen['caption']}”"
        if question in (1, 2, 3, 40):
            assert scroll_free(page)
            boxes = [page.box(".choice", i) for i in range(10)]
            assert min(min(width, height) for _, _, width, height in boxes) >= 44
            rows = {round(top) for _, top, _, _ in boxes}
            assert len(rows) == (5 if name == "phone" else 2)
            shoot(page, f"{name}-question-{question}")
        if "<b>" in screen["caption"] or "onerror" in screen["caption"]:
            shoot(page, f"{name}-markup")
            tall.append(question)
        if question == 50 and keeps:
            page.reload()
            ready(page, 50)
        answer(page, place_for(question), "touch" if name == "phone" else "key" if question % 2 else "click")
    page.wait(f"document.body.innerText.includes('You have answered all {TOTAL} screens')")
    assert tall
    assert page.run("document.title") == "Find the image"
    assert not page.run("document.querySelector('.caption b')")
    shoot(page, f"{name}-finished")
    page.button("Download my answers (CSV)")
    path = tmp_path / f"{STUDY}_anna-{name}_block1.csv"
    for _ in range(500):
        if path.exists() and path.stat().st_size:
            break
        page.run("new Promise((done) => setTimeout(done, 20))")
    answers = read_answers([path], STUDY, SCREENS)
    assert len(answers) == TOTAL
    wrong = [q for q in range(1, TOTAL + 1) if FIRST[q - 1]["role"] == "question" and q % 4 == 0]
    assert [row["question"] for row in answers if not row["correct"]] == wrong
    assert not any(row["excluded"] for row in answers)
    if keeps:
        [kept] = stored(page).values()
        assert json.loads(kept).keys() == {"participant", "block", "stage", "answers"}
    page.button("Delete my answers from this device")
    assert page.run("state") is None
    assert not keeps or stored(page) == {}


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize(("device", "how"), [(DESKTOP, "key"), (PHONE, "touch")])
def test_leaving_is_warned_of_where_answers_would_be_lost(server, page, device, how, keeps):
    page.size(*device)
    if not keeps:
        page.refuse_storage()
    page.open(f"{server.address}/index.html?block=1")
    page.reload()
    assert page.dialogs == []  # nothing to lose yet
    begin(page)
    answer(page, 4, how)
    ready(page, 2)
    page.reload()
    if keeps:
        ready(page, 2)
        assert page.dialogs == []
    else:
        assert page.dialogs == ["beforeunload"]
        assert "I agree and take part" in page.text()


def test_a_double_click_does_not_answer_the_next_screen(server, page):
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    page.click(".choice", 4)
    page.wait(f"document.body.innerText.includes('2 of {TOTAL}')")
    page.click(".choice", 4)
    page.key("5", "5")
    assert f"2 of {TOTAL}" in page.text()
    ready(page, 2)
    answer(page, 1)
    ready(page, 3)


def test_going_back_leads_to_no_other_screen(server, page):
    page.open("about:blank")
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    answer(page, 1)
    ready(page, 2)
    page.run("setTimeout(() => history.back())")
    page.wait("location.href === 'about:blank'")
    page.run("setTimeout(() => history.forward())")
    page.wait("location.href !== 'about:blank' && document.readyState === 'complete'")
    ready(page, 2)


def test_two_tabs_do_not_answer_twice(server, page):
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    # Another tab answered two screens meanwhile.
    page.run("localStorage[key] = JSON.stringify({...JSON.parse(localStorage[key]), answers: [1, 2]})")
    answer(page, 7)
    ready(page, 3)
    assert page.run("state.answers") == [1, 2]


def test_the_keyboard_alone_suffices(server, page):
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    page.key("ArrowRight")
    page.key("ArrowDown")
    page.key("ArrowRight")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Image 7"
    shoot(page, "desktop-focus")
    page.key("Enter", "\r")
    ready(page, 2)
    assert page.run("state.answers") == [7]
    page.key("0", "0")
    ready(page, 3)
    assert page.run("state.answers") == [7, 10]


def test_names_for_screen_readers(server, page):
    page.open(f"{server.address}/index.html?block=1")
    names = page.names()
    assert ("heading", "Find the image") in names
    assert ("textbox", "Participant code") in names
    begin(page)
    names = page.names()
    assert [name for role, name in names if role == "button"][-10:] == [f"Image {n}" for n in range(1, 11)]
    keys = "[...document.querySelectorAll('.choice')].map((choice) => choice.getAttribute('aria-keyshortcuts'))"
    assert page.run(keys) == [*"1234567890"]
    caption = f"“{FIRST[0]['caption']}”"
    assert ("heading", caption) in names
    assert ("group", caption) in names
    assert any(role in ("progressbar", "progress") and name == "Screens done" for role, name in names)
    assert page.run("document.activeElement.id") == "caption"
    assert page.run("document.getElementById('status').textContent") == f"Screen 1 of {TOTAL}"


def test_a_missing_image_stops_the_screen_until_it_is_there(server, page):
    page.open(f"{server.address}/index.html?block=1")
    server.broken = {path.name for path in (server.folder / "images").iterdir()}
    page.button("I agree and take part")
    page.button("Show me an example")
    page.wait("document.body.innerText.includes('An image could not be loaded')")
    page.key("1", "1")
    assert page.run("state.stage") == "example"
    shoot(page, "desktop-missing-image")
    server.broken = set()
    page.button("Try again")
    answer(page, 1)
    page.wait("state.stage === 'ready'")


def test_a_slow_image_is_waited_for(server, page, request):
    # The page asks for images of the next screen ahead; one of them is on its way until the server goes on.
    request.addfinalizer(server.on.set)
    server.late = {file_name(FIRST[0]["images"][4])}
    page.open(f"{server.address}/index.html?block=1")
    page.button("I agree and take part")
    page.button("Show me an example")
    answer(page, 3)
    page.wait("state.stage === 'ready'")
    page.button("Begin")
    page.wait(
        "document.querySelectorAll('.choice').length === 10 && document.querySelectorAll('.loading').length === 1"
    )
    label = "getComputedStyle(document.querySelectorAll('.choice')[4], '::after')"
    page.wait(f"{label}.visibility === 'visible'")
    assert page.run(f"{label}.content") == '"Loading…"'
    assert not page.run("document.querySelector('.choice:enabled')")
    shoot(page, "desktop-slow-image")
    page.run("shownAt = -1e6")  # it is not the pause after an answer that keeps these from counting
    page.click(".choice", 0)
    page.key("2", "2")
    assert page.run("state.answers") == []
    server.on.set()
    ready(page, 1)
    assert not page.run("document.querySelector('.loading')")
    answer(page, 3)
    ready(page, 2)
    assert page.run("state.answers") == [3]


def test_a_resting_pointer_marks_nothing_on_a_new_screen(server, page):
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    plain, marked = "rgb(201, 206, 214)", "rgb(31, 95, 191)"
    border = "getComputedStyle(document.querySelectorAll('.choice')[6]).borderColor"
    left, top, width, height = page.box(".choice", 6)
    page.move(left + width / 3, top + height / 3)
    page.wait(f"{border} === '{marked}'")
    page.click(".choice", 6)
    ready(page, 2)
    # What a browser tells a page of a pointer that rests while the page changes: its place, once more.
    page.move(left + width / 2, top + height / 2)
    page.wait("document.querySelectorAll('.choice')[6] === document.querySelector('.choice:hover')")
    assert page.run(border) == plain
    shoot(page, "desktop-resting-pointer")
    page.move(left + width / 3, top + height / 3)
    page.wait(f"{border} === '{marked}'")


def test_captions_run_in_their_own_direction(server, page):
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    direction = "getComputedStyle(document.querySelector('.caption')).direction"
    assert page.run(direction) == "ltr"
    page.run("block()[0].caption = 'כלב רץ ברחוב'; render()")
    assert page.run(direction) == "rtl"
    settled(page)
    shoot(page, "desktop-right-to-left")


@pytest.mark.parametrize(("device", "name"), [(DESKTOP, "desktop"), (PHONE, "phone")])
def test_a_long_caption_scrolls_above_the_images(server, page, device, name):
    page.size(*device)
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    page.run("block()[0].caption = 'a dog on the grass near a house '.repeat(600) + 'x'.repeat(900); render()")
    settled(page)
    assert scroll_free(page)
    caption = "document.querySelector('.caption')"
    assert page.run(f"{caption}.offsetHeight < innerHeight / 2 && {caption}.scrollHeight > {caption}.clientHeight")
    assert page.run("[...document.querySelectorAll('.choice')].every((one) => one.offsetHeight > 40)")
    shoot(page, f"{name}-long")


def test_bad_codes_and_blocks(server, page):
    page.open(f"{server.address}/index.html?block=3")
    assert "which this study does not have" not in page.text()
    page.open(f"{server.address}/index.html?participant=%3Cb%3E&block=99")
    assert "The address of this page names the block 99, which this study does not have." in page.text()
    assert page.run("document.querySelector('input').value").startswith("p")
    page.run("document.querySelector('input').value = '=1+1'")
    page.button("I agree and take part")
    assert "letters, digits" in page.text()
    shoot(page, "desktop-bad-code")
    page.run("document.querySelector('input').value = 'b-1'")
    page.button("I agree and take part")
    assert page.run("state.block") in (1, 2, 3)


def test_stopping_deletes_the_answers(server, page):
    page.open(f"{server.address}/index.html?block=1")
    begin(page)
    answer(page, 1)
    ready(page, 2)
    page.button("Stop and delete my answers")
    shoot(page, "desktop-stop")
    page.key("3", "3")  # behind the question nothing can be answered
    page.button("Go on with the study")
    assert page.run("state.answers") == [1]
    page.button("Stop and delete my answers")
    page.button("Stop and delete")
    assert "Your answers were deleted" in page.text()
    assert stored(page) == {}


@pytest.mark.parametrize("keeps", [True, False])
def test_answers_are_posted_once_and_thanked_for_afterwards(server, page, keeps):
    server.received.clear()
    if not keeps:
        page.refuse_storage()
    page.open(f"{server.address}/post.html?participant=anna&block=1")
    begin(page)
    page.run(f"state.answers = Array({TOTAL}).fill(1); keep(); render()")
    server.failing = True
    page.button("Send my answers")
    page.wait("document.body.innerText.includes('could not be sent (the server says 500)')")
    assert "Thank you" not in page.text()
    shoot(page, "desktop-not-sent")
    server.failing = False
    page.button("Send my answers")
    page.wait("document.body.innerText.includes('Your answers have arrived')")
    assert page.run("document.querySelector('h1').textContent") == "Thank you"
    assert "Send my answers" not in page.text()
    shoot(page, "desktop-sent")
    page.reload()
    assert page.dialogs == []
    assert ("Your answers have arrived" in page.text()) == keeps
    assert ("I agree and take part" in page.text()) != keeps
    assert "Send my answers" not in page.text()
    [body] = server.received
    assert body.splitlines()[:2] == ["study,participant,block,question,chosen", f"{STUDY},anna,1,1,1"]
    assert len(body.splitlines()) == TOTAL + 1


def test_two_tabs_do_not_send_twice(server, page):
    server.received.clear()
    page.open(f"{server.address}/post.html?block=1")
    begin(page)
    page.run(f"state.answers = Array({TOTAL}).fill(1); keep(); render()")
    # Another tab sent the answers meanwhile.
    page.run("localStorage[key] = JSON.stringify({...JSON.parse(localStorage[key]), sent: true})")
    page.button("Send my answers")
    page.wait("document.body.innerText.includes('Your answers have arrived')")
    assert server.received == []


def test_what_was_kept_by_something_else_is_not_believed(server, page):
    page.open(f"{server.address}/index.html?block=1")
    page.run("localStorage[key] = JSON.stringify({participant: '<b>', block: 1, stage: 'questions', answers: [1]})")
    page.reload()
    assert "I agree and take part" in page.text()
    page.run("localStorage[key] = '{broken'")
    page.reload()
    assert "I agree and take part" in page.text()
