"""What tests do with the results browser: open it, read its list and address, and work its controls."""

import json
import os
from pathlib import Path
from urllib.parse import parse_qs

from support.browser_run import image_id
from support.chromium import Page

PAGE = Path(__file__).parents[2] / "resources" / "browser"
DESKTOP, PHONE = (1400, 900, False), (390, 844, True)
SIZES = {1400: DESKTOP, 1024: (1024, 900, False), 800: (800, 900, False), 390: PHONE}
READY = "performance.getEntriesByName('captions shown').length"


def look(page: Page, folder: Path, address: str = "") -> None:
    """Open the browser in a folder at an address, and wait for its captions."""
    page.send("Page.navigate", url="about:blank")
    page.wait("location.href === 'about:blank'")
    page.open(f"{(folder / 'index.html').as_uri()}#{address}")
    page.wait(READY)


def shoot(page: Page, name: str) -> None:
    """Write a picture of the page, if a folder is named for pictures."""
    if folder := os.environ.get("CAPTIONLAB_SCREENSHOTS"):
        page.screenshot(Path(folder) / f"{name}.png")


def images(page: Page) -> list[int]:
    """Numbers of the images in the list, in its order."""
    return page.run("current.rows.map((row) => view.image[row])")


def address(page: Page) -> dict[str, str]:
    """The state in the address of the page."""
    return {name: values[0] for name, values in parse_qs(page.run("location.hash.slice(1)")).items()}


def set_value(page: Page, selector: str, value: str) -> None:
    """Choose or type a value, as the browser tells a page of it."""
    page.run(
        f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.value = {json.dumps(value)};"
        "for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind, { bubbles: true })); })()"
    )


def tick(page: Page, name: str) -> None:
    """Tick or clear a box of the filters."""
    page.run(f"document.querySelector('[name={name}]').click()")


def titled(number: int) -> str:
    """Return the condition that an image is open."""
    return f"document.querySelector('dialog h2').textContent === {json.dumps(f'Image {image_id(number)}')}"
