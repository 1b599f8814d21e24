"""Pictures of the studio as people open it: five robots, two widths, light and dark, kept in out/studio."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Person, chromium_path, launch, wait_for

sys.path.insert(0, str(Path(__file__).parents[1] / "robot"))

from public_robots import robot_file

from memetik.studio.app import Studio

pytestmark = [
    pytest.mark.soak,
    pytest.mark.unsanitized,
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed (Debian: apt-get install chromium)"),
]

ROBOTS = {
    "panda": "panda",
    "valkyrie": "valkyrie",
    "wolf": "wolf",
    "talos": "talos_reduced.urdf",
    "tiago": "tiago.urdf",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_the_page_shows_a_robot_that_stands_and_is_solved(name: str, browser: Any) -> None:
    source = ROBOTS[name]
    with Studio(str(robot_file(source)) if "." in source else source, port=0) as studio:
        assert studio.robot_view.lowest(studio.state.q) >= studio.grid.position[2] - 0.002
        for width, height in ((1400, 900), (1024, 700)):
            for dark in (False, True):
                studio.set_dark(dark)
                _picture(browser, studio, (width, height), f"{name}-{width}-{'dark' if dark else 'light'}")


def _picture(browser: Any, studio: Studio, size: tuple[int, int], name: str) -> None:
    person = Person(browser, studio, size, shadows=True)
    wait_for(lambda: "Solved" in person.status(), "the robot is solved")
    person.shot(name)
    assert person.errors == []
    person.close()
