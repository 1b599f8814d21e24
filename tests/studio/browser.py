"""A person in front of the studio: headless Chromium, clicks, drags, screenshots."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from memetik.studio.app import Studio
from memetik.studio.panels.panel import Panel
from memetik.studio.views.robot_view import RobotView, pose_of

P = TypeVar("P", bound=Panel)

SHOTS = Path(__file__).parents[2] / "out" / "studio"

FLAGS = [
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic",
]  # fmt: skip


def chromium_path() -> str | None:
    """Chromium, where it is installed."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def launch(playwright: Any) -> Any:
    return playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS, chromium_sandbox=False)


class Person:
    """One page of a studio, with a hand on the mouse."""

    def __init__(self, browser: Any, studio: Studio, size: tuple[int, int] = (960, 640), shadows: bool = False):
        self.studio = studio
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, accept_downloads=True, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(600_000)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        # Shadows are pretty, and slow where a processor draws them.
        studio.server.scene.configure_default_lights(True, cast_shadow=shadows)
        known = set(studio.server.get_clients())
        self.page.goto(studio.address)
        self.page.wait_for_selector("canvas")
        self.page.wait_for_selector("[data-studio=status]", timeout=600_000)
        wait_for(lambda: set(studio.server.get_clients()) - known, "the page is connected")
        self.client = studio.server.get_clients()[max(studio.server.get_clients())]
        close = self.page.get_by_text("Software WebGL rendering")
        if close.count():
            close.locator("xpath=ancestor::*[.//button][1]").get_by_role("button").first.click()

    def open_tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    def unfold(self, folder: str) -> None:
        """Opens a folder that is closed."""
        self.page.get_by_text(folder, exact=True).first.click()

    def press(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()

    def choose(self, label: str, option: str) -> None:
        """An option of a dropdown."""
        field = self.field(label)
        field.click()
        field.fill(option)
        self.page.get_by_role("option", name=option, exact=True).first.click()

    def field(self, label: str) -> Any:
        """The input beside a label, of those that can be seen."""
        named = self.page.locator(f"xpath=//label[normalize-space()={label!r}]/following::input[position() <= 2]")

        def seen() -> Any:
            return next((named.nth(k) for k in range(named.count()) if named.nth(k).is_visible()), None)

        return wait_for(seen, f"there is a field {label!r}")

    def write(self, label: str, text: str) -> None:
        """Types into a field; once more where a busy page lost it."""
        before = self._values(label)
        for _ in range(3):
            field = self.field(label)
            field.fill(text)
            field.press("Enter")
            self.page.wait_for_timeout(500)  # the page gathers keystrokes before it sends them
            end = time.monotonic() + 3.0
            while time.monotonic() < end:
                if text in (now := self._values(label)) or now != before:
                    return
                time.sleep(0.05)

    def _values(self, label: str) -> list[str]:
        """What the server knows of the fields under a label."""
        handles = list(self.studio.server.gui._gui_input_handle_from_uuid.values())
        return [str(handle.value) for handle in handles if getattr(handle, "label", None) == label]

    def status(self) -> str:
        return self.page.locator("[data-studio=status]").inner_text()

    def pixel(self, point: Any) -> tuple[float, float]:
        """Where a point of the world is on the page."""
        camera = self.client.camera
        back = camera.position - camera.look_at
        z = back / np.linalg.norm(back)
        x = np.cross(camera.up_direction, z)
        x /= np.linalg.norm(x)
        y = np.cross(z, x)
        seen = np.stack([x, y, z]) @ (np.asarray(point, dtype=float) - camera.position)
        box = self.page.locator("canvas").first.bounding_box()
        half = 0.5 * box["height"]
        focal = half / np.tan(0.5 * camera.fov)
        return (
            box["x"] + 0.5 * box["width"] - focal * seen[0] / seen[2],
            box["y"] + half + focal * seen[1] / seen[2],
        )

    def drag(self, start: Any, end: Any, steps: int = 15, seconds: float = 1.5) -> None:
        """Drags what is at one point of the world to another, slowly, as a hand does."""
        mouse = self.page.mouse
        x0, y0 = self.pixel(start)
        x1, y1 = self.pixel(end)
        mouse.move(x0 - 3, y0 - 3)
        time.sleep(0.5)
        mouse.move(x0, y0)
        time.sleep(1.0)
        mouse.down()
        time.sleep(0.3)
        for k in range(1, steps + 1):
            mouse.move(x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps)
            time.sleep(seconds / steps)
        time.sleep(0.2)
        mouse.up()

    def click_at(self, point: Any) -> None:
        self.page.mouse.click(*self.pixel(point))

    def shot(self, name: str) -> Path:
        SHOTS.mkdir(parents=True, exist_ok=True)
        time.sleep(1.0)
        path = SHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path

    def close(self) -> None:
        self.context.close()


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 600.0) -> Any:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds:g} s in vain: {what}")


def panel_of(studio: Studio, kind: type[P]) -> P:
    """The panel of a kind."""
    return next(panel for panel in studio.panels if isinstance(panel, kind))


def drawn_pose(view: RobotView, link: int) -> np.ndarray:
    """Where a browser draws a link: its node's pose below those of the nodes above it."""
    frames, pose = view._links, np.eye(4)
    for index, path in frames.paths.items():  # from the base outwards
        if f"{frames.paths[link]}/".startswith(f"{path}/"):
            pose = pose @ pose_of(frames.nodes[index])
    return pose
