"""Chromium without a window, driven over its DevTools protocol on a pair of pipes: nothing but the standard library."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0


def program() -> str | None:
    """Where Chromium is installed, None where it is not."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Page:
    """A tab. Commands are those of chromedevtools.github.io/devtools-protocol; messages end with a zero byte."""

    def __init__(self, commands: int, answers: int):
        self.commands, self.answers = commands, answers
        self.buffer, self.number, self.session = b"", 0, ""
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Run a command and wait for its answer; a dialog that opens meanwhile is noted by its kind and accepted."""
        number = self._write(method, parameters)
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]["exceptionDetails"])[:500])
            if answer.get("method") == "Page.javascriptDialogOpening":
                self.dialogs.append(answer["params"]["type"])
                self._write("Page.handleJavaScriptDialog", {"accept": True})
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _write(self, method: str, parameters: dict[str, Any]) -> int:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        return self.number

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            if not (part := os.read(self.answers, 1 << 16)):
                raise RuntimeError("Chromium has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def run(self, script: str) -> Any:
        """Value of a JavaScript expression, promises awaited."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until a JavaScript expression is true."""
        deadline = time.monotonic() + PATIENCE
        while not self._holds(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {condition}\n{self.text()}")
            time.sleep(0.02)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(f"Boolean({condition})"))
        except RuntimeError as error:
            if "navigated" in str(error) or "context" in str(error):
                return False  # between two pages
            raise

    def open(self, address: str) -> None:
        """Load a page to its end."""
        self.run("window.left = true")
        self.send("Page.navigate", url=address)
        self.wait("!window.left && document.readyState === 'complete'")

    def reload(self) -> None:
        """Load the page again."""
        self.run("window.left = true")
        self.send("Page.reload")
        self.wait("!window.left && document.readyState === 'complete'")

    def size(self, width: int, height: int, phone: bool) -> None:
        """Size of the window, and whether it is touched."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        self.send("Emulation.setTouchEmulationEnabled", enabled=phone)

    def refuse_storage(self) -> None:
        """Pages loaded from now on have no local storage, as where cookies are blocked."""
        refusal = "get() { throw new DOMException('Access is denied', 'SecurityError'); }"
        self.send(
            "Page.addScriptToEvaluateOnNewDocument",
            source=f"Object.defineProperty(window, 'localStorage', {{ {refusal} }})",
        )

    def move(self, x: float, y: float) -> None:
        """Move the mouse to a place in the window."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def box(self, selector: str, index: int = 0) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element."""
        return tuple(
            self.run(
                f"(() => {{ const box = document.querySelectorAll({json.dumps(selector)})[{index}]"
                ".getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()"
            )
        )

    def click(self, selector: str, index: int = 0, touch: bool = False) -> None:
        """Press in the middle of an element, as a mouse or a finger does."""
        left, top, width, height = self.box(selector, index)
        x, y = left + width / 2, top + height / 2
        if touch:
            self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        else:
            self.move(x, y)
            for kind in ("mousePressed", "mouseReleased"):
                self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key: str, text: str = "") -> None:
        """Press a key; `text` is what it types."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **code)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def button(self, name: str) -> None:
        """Click the button with this text."""
        index = self.run(
            f"[...document.querySelectorAll('button')].findIndex((b) => b.textContent === {json.dumps(name)})"
        )
        assert index >= 0, f"no button {name!r} in: {self.text()}"
        self.click("button", index)

    def text(self) -> str:
        """Text of the page."""
        return str(self.run("document.body.innerText"))

    def names(self) -> list[tuple[str, str]]:
        """Role and accessible name of everything that a screen reader meets."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored") and "role" in node
        ]

    def screenshot(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(profile: Path, downloads: Path) -> Iterator[Page]:
    """A fresh Chromium with one tab, ended afterwards."""
    executable = program()
    assert executable
    from_us, to_us = os.pipe(), os.pipe()

    def wire() -> None:
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        commands, answers = os.dup(from_us[0]), os.dup(to_us[1])
        os.dup2(commands, 3)
        os.dup2(answers, 4)

    process = subprocess.Popen(
        [executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
         # A mouse, which a machine without a screen has not.
         "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
         f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        close_fds=False, preexec_fn=wire,
    )  # fmt: skip
    os.close(from_us[0])
    os.close(to_us[1])
    try:
        page = Page(from_us[1], to_us[0])
        page.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        yield page
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        os.close(from_us[1])
        os.close(to_us[0])
