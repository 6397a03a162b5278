"""Headless Chromium, driven by Selenium, to look at the HTML report and to test it."""

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.parts.cache import find_program, need

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

# The last five stop calls to the browser maker's hosts, which a closed network refuses many at a time.
ARGUMENTS: Final = (
    "--headless",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def launch_arguments(profile: Path) -> list[str]:
    """Arguments for one start, with an empty profile folder of its own; the sandbox does not run as root."""
    return [*ARGUMENTS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


@contextmanager
def browser(folder: Path, *, width: int = 1280, height: int = 900) -> Iterator["Chrome"]:
    """A browser whose pages see `width` x `height` CSS pixels, its profile and log in `folder`; skips where absent."""
    program, driver = need("chromium"), find_program("chromium", companion="chromedriver")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(program)
    for argument in launch_arguments(folder / "profile"):
        options.add_argument(argument)
    # Both programs are named, or Selenium would look for downloads.
    service = Service(executable_path=str(driver), log_output=str(folder / "chromedriver.log"))
    chrome = Chrome(options=options, service=service)
    try:
        # A window's size counts its frame as well; this sets what the page sees.
        view = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", view)
        yield chrome
    finally:
        chrome.quit()


def screenshot(page: Path, folder: Path, *, width: int = 1280) -> Path:
    """Show a local page and return its picture in `folder`: a PNG `width` pixels wide and as high as the page."""
    picture = folder / f"{page.stem}.png"
    with browser(folder, width=width, height=200) as chrome:
        chrome.get(page.absolute().as_uri())
        taken = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        picture.write_bytes(base64.b64decode(taken["data"]))
    return picture
