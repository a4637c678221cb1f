"""A person at the screen, for benchmarks and tests: acts in a browser, and counts actions and waiting time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import FileChooser, Locator, Page

# resolves when no run of the page's script has been under way for this many milliseconds
AT_REST = """
(quiet) => new Promise((done) => {
  let since = null;
  const look = () => {
    const { testScriptState, testConnectionState } = document.querySelector('[data-testid=stApp]')?.dataset ?? {};
    const isAtRest = testScriptState === 'notRunning' && testConnectionState === 'CONNECTED'
      && !document.querySelector('[data-testid=stSkeleton], [data-stale=true]');
    since = isAtRest ? since ?? performance.now() : null;
    if (since !== null && performance.now() - since >= quiet) done(); else requestAnimationFrame(look);
  };
  look();
})
"""
QUIET_MS = 150
IS_FOCUSED = "(element) => element.contains(document.activeElement)"
MAX_TABS = 900


class OutOfReach(Exception):
    """An element that cannot be reached with the keyboard."""


class Hands:
    """Acts with the mouse. A click is one action; typing, including Tab, is one action, too.

    actions: their number so far; waited: seconds that the app took after them.
    """

    def __init__(self, page: Page) -> None:
        self.page, self.actions, self.waited = page, 0, 0.0

    @contextmanager
    def _action(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.page.evaluate(AT_REST, QUIET_MS)
        self.waited += time.monotonic() - began - QUIET_MS / 1000
        self.actions += 1

    def click(self, target: Locator) -> None:
        """Wait for the element, and act on it."""
        with self._action():
            self._press(target)

    def _press(self, target: Locator) -> None:
        target.click()

    def choose(self, box: Locator, option: str) -> None:
        """Choose from a drop-down list: two clicks."""
        self.click(box)
        self.click(self.page.get_by_role("option", name=option, exact=True))

    def type(self, *texts: str) -> None:
        """Type into the focused field, and after Tab into the following ones; None leaves a field unchanged."""
        for place, text in enumerate(texts):
            if place:
                self.page.keyboard.press("Tab")
            if text:
                self.page.keyboard.press("ControlOrMeta+a")
                self.page.keyboard.insert_text(text)
        with self._action():
            pass

    def leave(self) -> None:
        """Leave the field with Tab, which stores it."""
        self.page.keyboard.press("Tab")
        self.page.evaluate(AT_REST, QUIET_MS)

    def pick(self, button: Locator, file: Path) -> None:
        """Choose a file in the browser's own window: one action."""
        with self._action(), self.page.expect_file_chooser() as opened:
            self._press(button)
            chooser: FileChooser = opened.value
            chooser.set_files(file)

    def see(self, target: Locator) -> None:
        """Wait for something to read; not an action."""
        began = time.monotonic()
        target.wait_for()
        self.waited += time.monotonic() - began


class KeyboardHands(Hands):
    """Acts with Tab, Enter, Space and letters only. tabs: how often Tab was pressed to reach elements."""

    tabs = 0

    def _press(self, target: Locator) -> None:
        target.wait_for(state="attached")
        self._reach(target)
        is_ticked = target.evaluate("(element) => element.matches('input[type=checkbox], input[type=radio]')")
        self.page.keyboard.press("Space" if is_ticked else "Enter")

    def _reach(self, target: Locator) -> None:
        """Press Tab until the target has the focus. Raises OutOfReach."""
        for _ in range(MAX_TABS):
            if target.evaluate(IS_FOCUSED):
                return
            self.page.keyboard.press("Tab")
            self.tabs += 1
        raise OutOfReach(f"Tab never gets to {target}.")

    def choose(self, box: Locator, option: str) -> None:
        with self._action():
            self._reach(box)
            self.page.keyboard.press("ArrowDown")
            self.page.keyboard.insert_text(option)
            self.page.get_by_role("option", name=option, exact=True).wait_for()
            self.page.keyboard.press("Enter")
