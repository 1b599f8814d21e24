"""Takes docs/images/studio-pose.png and studio-results.png: the studio in headless Chromium.

Run: python docs/images/render_studio.py [pose] [results]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import memetik as mk
from memetik.studio.app import Studio

HERE = Path(__file__).parent
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    """Take both, or those that are named."""
    chosen = sys.argv[1:] or ["pose", "results"]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS, chromium_sandbox=False)
        if "pose" in chosen:
            pose(browser)
        if "results" in chosen:
            results(browser, folder)
        browser.close()


def pose(browser: Any) -> None:
    """A panda that reaches over a box on a table."""
    with Studio("panda", table(), port=0) as studio:
        session = studio.session
        target = mk.transform((0.52, -0.22, 0.40), rpy=(3.14159, 0.0, 0.5))
        ask(studio, lambda: session.drag("pose_panda_hand_tcp", target))
        ask(studio, lambda: session.add_goal("AlignAxis", "panda_hand"))
        ask(studio, lambda: session.add_goal("AvoidLimits"))
        page = opened(browser, studio)
        take(studio, page, "studio-pose.png")


def results(browser: Any, folder: str) -> None:
    """Targets inside a tank, reached by an endoscope through its mouth."""
    run = ["--robot", "elise", "--scenario", "HydrogenTank", "--solver", "memetic", "--targets", "40", "--trials", "1"]
    store = ["--timeout", "0.003", "--store", "tank.db"]
    subprocess.run([sys.executable, "-m", "memetik.cli", "bench", "run", *run, *store], cwd=folder, check=True)
    with Studio("panda", port=0, folder=folder) as studio:
        page = opened(browser, studio)
        page.get_by_role("tab", name="Results").click()
        page.get_by_role("button", name="Open store").click()
        time.sleep(1.0)
        page.get_by_role("button", name="Show run").click()
        while studio.results_panel._results is None:
            time.sleep(0.2)
        time.sleep(2.0)
        take(studio, page, "studio-results.png")


def table() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (0.7, 1.3, 0.04), mk.transform((0.62, 0.0, 0.02)), color=(0.76, 0.66, 0.52, 1.0))
    scene.add_box("crate", (0.22, 0.3, 0.18), mk.transform((0.55, 0.2, 0.13)), color=(0.36, 0.52, 0.66, 1.0))
    scene.add_cylinder("can", 0.05, 0.16, mk.transform((0.55, -0.22, 0.12)), color=(0.80, 0.47, 0.36, 1.0))
    scene.add_sphere("ball", 0.06, mk.transform((0.75, -0.05, 0.10)), color=(0.45, 0.62, 0.45, 1.0))
    return scene


def opened(browser: Any, studio: Studio) -> Any:
    page = browser.new_page(viewport=SIZE, reduced_motion="reduce")
    studio.server.scene.configure_default_lights(True, cast_shadow=False)  # a processor draws them slowly
    page.goto(studio.address)
    page.wait_for_selector("[data-studio=status]", state="attached", timeout=120_000)
    while not studio.server.get_clients():
        time.sleep(0.1)
    warning = page.get_by_text("Software WebGL rendering")
    if warning.count():
        warning.locator("xpath=ancestor::*[.//button][1]").get_by_role("button").first.click()
    return page


def ask(studio: Studio, action: Any) -> None:
    studio.loop.post(action)
    studio.loop.wait_idle()


def take(studio: Studio, page: Any, name: str) -> None:
    time.sleep(25.0)  # a browser that draws without a graphics card lags behind
    studio.server.scene.configure_default_lights(True, cast_shadow=True)
    time.sleep(6.0)
    page.screenshot(path=HERE / name, timeout=120_000)
    page.close()
    print(name, "written")


if __name__ == "__main__":
    main()
