"""The pages as a browser shows them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memetik as mk
from memetik.bench.report.page import page, write_whole
from memetik.bench.report.viewer import Part, arrows, link_poses, parts_html, per_arrow, robot_parts, viewer_script

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip

pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt-get install chromium)"),
]

VIEWERS = 20


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page with more viewers than a browser has WebGL contexts, and what it asked for and complained of."""
    from playwright.sync_api import sync_playwright

    robot = mk.load_robot("ur3")
    red, green = np.array([[1.0, 0.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0, 1.0]])
    targets = arrows("targets", np.array([[0.3, 0.0, 0.4]]), np.array([[0.0, 0.0, -1.0]]), 0.3, red)
    targets = Part("targets", targets.vertices, targets.faces, targets.colors,
                   {"a": per_arrow(red), "b": per_arrow(green)})  # fmt: skip
    configurations = [("zero", link_poses(robot, robot.neutral)), ("one", link_poses(robot, robot.neutral + 0.8))]
    viewer = parts_html([*robot_parts(robot), targets], configurations, legend=[("a </i> key", "#f00")])
    file = tmp_path_factory.mktemp("page") / "page.html"
    write_whole(file, page("a <title>", [viewer] * VIEWERS, head=viewer_script()))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        tab = browser.new_page(viewport={"width": 900, "height": 700})
        tab.complaints, tab.asked = [], []  # type: ignore[attr-defined]
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(f"file://{file}")
        yield tab
        browser.close()


def pixels(tab: Any, number: int, path: Path) -> np.ndarray:
    from PIL import Image

    viewer = tab.locator(".viewer").nth(number)
    viewer.scroll_into_view_if_needed()
    viewer.locator("canvas").wait_for()
    tab.wait_for_timeout(200)
    viewer.locator("canvas").screenshot(path=path)
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def test_every_viewer_of_a_long_page_shows_the_robot(shown: Any, tmp_path: Path) -> None:
    for number in (0, VIEWERS - 1, 0):
        image = pixels(shown, number, tmp_path / "view.png")
        orange = (image[..., 0] > 100) & (image[..., 0] > 1.3 * image[..., 2])
        assert orange.mean() > 0.01
        assert shown.locator("canvas").count() < 8
    assert shown.locator(".viewer").nth(0).locator(".key").inner_text() == "a </i> key"


def test_choices_change_the_picture(shown: Any, tmp_path: Path) -> None:
    viewer = shown.locator(".viewer").nth(0)
    before = pixels(shown, 0, tmp_path / "before.png")
    red = ((before[..., 0] > 90) & (before[..., 1] < 40) & (before[..., 2] < 40)).sum()
    viewer.locator("select").first.select_option("b")
    recolored = pixels(shown, 0, tmp_path / "recolored.png")
    green = ((recolored[..., 1] > 90) & (recolored[..., 0] < 40) & (recolored[..., 2] < 40)).sum()
    assert red > 50
    assert green > 50
    viewer.locator("input[type=range]").first.evaluate("e => { e.value = 1; e.dispatchEvent(new Event('input')); }")
    moved = pixels(shown, 0, tmp_path / "moved.png")
    assert (np.abs(moved - recolored).max(axis=2) > 40).mean() > 0.01
    assert viewer.locator("output").inner_text() == "one"


def test_nothing_is_fetched_and_nothing_complains(shown: Any) -> None:
    assert [url for url in shown.asked if not url.startswith(("file:", "data:"))] == []
    assert shown.complaints == []
