"""Faults of a page that no reader may meet: each is looked for in light and dark, at two widths."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from selenium import webdriver

AXE = Path(__file__).parents[2] / "build/console/axe.min.js"
SCHEMES, WIDTHS, HEIGHT = ("light", "dark"), (1_200, 420), 900  # pixels
# What a text of a person would have to become to do harm; the markup of the console has none of it.
HARMFUL = (
    "script, iframe, object, embed, base, img, style, foreignObject, [onerror], [onload], [onfocus], [onclick], "
    "[onmouseover], [href^='javascript:' i], [src^='javascript:' i], [action^='javascript:' i], [formaction], #attack"
)
RUN_AXE = """axe.run().then(found => JSON.stringify(found.violations.map(
    violation => violation.id + ': ' + violation.nodes.map(node => node.html.slice(0, 200)).join(' '))))"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def read_axe() -> str:
    """Return the script of axe-core.

    Raises:
        FileNotFoundError: It is not installed.
    """
    if not AXE.is_file():
        raise FileNotFoundError(f"{AXE} is missing: run tests/console/install.sh")
    return AXE.read_text("utf-8")


class Auditor:
    """Looks for faults of the page that a browser shows.

    Args:
        url: The address of the service, which is all that a page may ask for.
        axe: The script of axe-core.
    """

    def __init__(self, browser: webdriver.Chrome, url: str, axe: str) -> None:
        self._browser, self._url, self._axe = browser, url, axe
        self._runs_scripts = True

    def allow_scripts(self, allowed: bool) -> None:
        """Let pages run scripts, or none; axe-core is one, and so looks only where they run."""
        self._runs_scripts = allowed
        self._browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def find_faults(self) -> list[str]:
        """Return the faults of the page, and of all that the browser did since the last look."""
        faults = [*self._find_harm(), *self._read_logs()]
        if not self._runs_scripts:
            return faults
        if not self.evaluate("typeof axe === 'object'"):
            self.evaluate(self._axe + ";0")
        for scheme, width in product(SCHEMES, WIDTHS):
            self.look(scheme, width)
            violations = json.loads(self.evaluate(RUN_AXE))
            faults += [f"{scheme}, {width} pixels: {violation}" for violation in violations]
            if (excess := self.evaluate(WIDE)) > 0:
                faults.append(f"{width} pixels: the page is {excess} pixels too wide")
        self.look(SCHEMES[0], WIDTHS[0])
        return faults

    def look(self, scheme: str, width: int) -> None:
        """Show the page in light or dark, at a width."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self._browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression; the page's own policy forbids its scripts, and not this one."""
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        reply = self._browser.execute_cdp_cmd("Runtime.evaluate", options)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def _find_harm(self) -> Iterator[str]:
        elements = self.evaluate(
            f"[...document.querySelectorAll({json.dumps(HARMFUL)})].map(one => one.outerHTML)"
        )
        yield from (f"an element that no template has: {html}" for html in elements)
        if self.evaluate("window.attacked") is not None:
            yield "a script of a text has run"

    def _read_logs(self) -> Iterator[str]:
        for entry in self._browser.get_log("browser"):
            # A refused form is answered with a page of its status, which is no error of the page.
            if entry["level"] == "SEVERE" and not (
                entry["source"] == "network" and "status of 4" in entry["message"]
            ):
                yield f"the browser's log: {entry['message']}"
        for entry in self._browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                # Chromium draws the sign of a field for dates from an address that holds the picture itself.
                if not address.startswith((self._url + "/", "data:image/svg+xml;")):
                    yield f"a request to {address}"
