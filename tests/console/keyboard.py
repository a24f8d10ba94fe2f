"""A curator at a keyboard: Chromium without a window, to which keys are sent and nothing else.

No element is clicked and none is given the focus: Tab reaches what is worked with, by the name that screen readers say.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = (
    "Chromium and chromedriver are not on the path: tests/console/install.sh installs them, or says how"
)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--lang=en"),
)
WAIT_S = 30.0  # limit of each wait for a page
MAX_TABS = 400  # after which a page has no such element
MAX_ARROWS = 20


@contextmanager
def start_browser(downloads: Path) -> Iterator[webdriver.Chrome]:
    """Start Chromium, whose files go to a folder.

    Raises:
        FileNotFoundError: There is no browser.
    """
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        raise FileNotFoundError(NO_BROWSER)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Driver(driver))
    try:
        browser.set_page_load_timeout(WAIT_S)
        browser.execute_cdp_cmd(
            "Emulation.setFocusEmulationEnabled", {"enabled": True}
        )  # as of a window in front
        yield browser
    finally:
        browser.quit()


class Curator:
    """A person who works with pages by the keyboard; each method is a step.

    Args:
        url: The address of the service.
        keys: The keys that the person may sign in with, by name.
        folder: Where the person's files are.
        look: Called at each page.
    """

    def __init__(
        self,
        browser: webdriver.Chrome,
        url: str,
        keys: Mapping[str, str],
        folder: Path,
        look: Callable[[], None],
    ) -> None:
        self.browser, self.url, self._keys, self._folder, self._look = browser, url, keys, folder, look

    @property
    def place(self) -> str:
        """The path of the page."""
        return self.browser.current_url.removeprefix(self.url)

    @property
    def text(self) -> str:
        """What the page says, without what stands in its fields."""
        return self.browser.find_element(By.TAG_NAME, "body").text

    @property
    def fields(self) -> list[str]:
        """What stands in the fields of the page, hidden ones included."""
        script = "return [...document.querySelectorAll('input, textarea, select')].map(field => field.value)"
        values: list[str] = self.browser.execute_script(script)
        return values

    def type_address(self, path: str) -> None:
        """Type an address, as into the browser's own bar."""
        self.browser.get(self.url + path)
        self._look()

    def sign_in(self, name: str) -> None:
        self.type_address("/console/sign-in")
        self.give_key(name)

    def give_key(self, name: str) -> None:
        """Fill in a key, by its name, or a wrong one, and send it by Enter."""
        self.fill("Your key, or a token of your organization", self._keys.get(name, name))
        self.send()

    def reach(self, name: str) -> WebElement:
        """Press Tab until the element with this name has the focus, which has to be seen."""
        at = self.browser.switch_to.active_element
        for _ in range(MAX_TABS):
            if at.tag_name != "body" and at.accessible_name == name:
                assert at.value_of_css_property("outline-style") != "none", f"{name}: the focus is not seen"
                return at
            self._type(Keys.TAB)
            at = self.browser.switch_to.active_element
        raise AssertionError(f"{self.place}: no Tab reaches {name!r}")

    def fill(self, name: str, text: str) -> None:
        """Write a text into a field, in place of what stands there."""
        self.reach(name)
        actions = ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL)
        actions.send_keys(text.replace("\n", Keys.ENTER)).perform()

    def choose(self, name: str) -> None:
        """Choose one of several radio buttons, the first of which has been reached, or of a list of options."""
        for _ in range(MAX_ARROWS):
            self._type(Keys.ARROW_DOWN)
            at = self.browser.switch_to.active_element
            if name in (at.accessible_name, at.get_attribute("value")):
                return
        raise AssertionError(f"{self.place}: no arrow reaches {name!r}")

    def tick(self, name: str) -> None:
        """Tick a line."""
        self.reach(name)
        self._type(Keys.SPACE)

    def open(self, name: str) -> None:
        """Open what is folded under a name, on the same page."""
        self.reach(name)
        self._type(Keys.ENTER)
        self._look()

    def attach(self, label: str, name: str, text: str) -> None:
        """Choose a file that has a text."""
        path = self._folder / name
        path.write_text(text, "utf-8")
        self.reach(label).send_keys(str(path))

    def download(self, label: str, pattern: str, *texts: str) -> None:
        """Press a link to a file, and read that."""
        self.reach(label)
        self._type(Keys.ENTER)
        wait = WebDriverWait(self.browser, WAIT_S, 0.05)
        path = wait.until(lambda _: next(self._folder.glob(pattern), None))
        content = path.read_text("utf-8")
        assert all(text in content for text in texts), content

    def press(self, name: str) -> None:
        """Press a button or a link that leads to another page, and wait for that."""
        self.reach(name)
        self.send()

    def send(self) -> None:
        """Press Enter where the focus is, and wait for the next page."""
        page = self.browser.find_element(By.TAG_NAME, "html")
        self._type(Keys.ENTER)
        # In between there is no page that could be asked.
        wait = WebDriverWait(self.browser, WAIT_S, 0.02, ignored_exceptions=[WebDriverException])
        wait.until(staleness_of(page))
        wait.until(lambda browser: browser.execute_script("return document.readyState") == "complete")
        self._look()

    def see(self, *texts: str) -> None:
        missing = [text for text in texts if text not in self.text]
        assert not missing, f"{self.place} does not say {missing}:\n{self.text}"

    def miss(self, *texts: str) -> None:
        extra = [text for text in texts if text in self.text]
        assert not extra, f"{self.place} says {extra}:\n{self.text}"

    def take(self, steps: Any) -> None:
        """Take several steps, each the name of a method and its arguments."""
        for step, *arguments in steps:
            getattr(self, step)(*arguments)

    def _type(self, keys: str) -> None:
        """Press keys, wherever the focus is."""
        ActionChains(self.browser).send_keys(keys).perform()
