"""Pictures of robots, solutions and motions: pages that are complete in themselves."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard
from browser import chromium_path, launch

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.timing.trajectory import Trajectory
from memetik.studio.views.show import Picture, show_motion


@dataclass(frozen=True)
class Recording:
    """What a page embeds: messages with the moments at which a browser applies them.

    Tests look for nodes in it: the size of a page says nothing, as it is compressed, and a page with one object more
    may be shorter.
    """

    duration: float
    messages: list[tuple[float, dict[str, Any]]]

    @classmethod
    def of(cls, picture: Picture) -> Recording:
        found = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', picture.page)
        assert found is not None
        packed = base64.b64decode(found.group(1))
        data = zstandard.ZstdDecompressor().decompress(packed[8:], int.from_bytes(packed[:8], "little"))
        content = msgspec.msgpack.decode(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return cls(content["durationSeconds"], content["messages"])

    def nodes(self, kind: str, prefix: str) -> list[dict[str, Any]]:
        """Messages of a kind about nodes whose names begin so."""
        return [m for _, m in self.messages if m["type"] == kind and m.get("name", "").startswith(prefix)]

    def moments(self, kind: str, prefix: str) -> list[float]:
        """The distinct moments of such messages."""
        return sorted({time for time, m in self.messages if m["type"] == kind and m.get("name", "").startswith(prefix)})


def test_a_robot_is_shown_in_a_page_of_its_own(tmp_path) -> None:
    robot = mk.load_robot("ur5")
    picture = robot.show()
    assert "__VISER_EMBED_DATA__" in picture.page
    assert picture._repr_html_().startswith("<iframe srcdoc=")
    picture.save(tmp_path / "robot.html")
    assert (tmp_path / "robot.html").stat().st_size == len(picture.page.encode())
    links = [link.name for link in robot.description.links if link.visuals or link.collisions]
    alone, several = Recording.of(picture), Recording.of(robot.show(robot.random(0, 4)))
    for page in (alone, several):
        assert len(page.nodes("MeshMessage", "/robot_")) >= len(links)
        assert page.duration == 0.0
    assert not alone.nodes("BatchedMeshesMessage", "/ghosts_")
    assert len(several.nodes("BatchedMeshesMessage", "/ghosts_")) == len(links)


def test_a_solution_is_shown_with_its_scene(tmp_path) -> None:
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("wall", (0.2, 0.2, 0.2), mk.transform((0.5, 0.4, 0.3)))
    goal = mk.Pose("panda_hand", robot.pose("panda_hand", robot.state("ready")))
    solution = mk.solve(robot, [goal, mk.AvoidLimits()], scene=scene, seed=robot.state("ready"))
    page = Recording.of(solution.show())
    (wall,) = page.nodes("MeshMessage", "/scene/wall_")
    (place,) = page.nodes("SetPositionMessage", wall["name"])
    np.testing.assert_allclose(place["position"], (0.5, 0.4, 0.3))
    (target,) = page.nodes("SetPositionMessage", "/targets/0")
    np.testing.assert_allclose(target["position"], goal.target[:3, 3])
    plain = Recording.of(mk.solve(robot, [goal], seed=robot.state("ready")).show())
    assert not plain.nodes("MeshMessage", "/scene/")


def test_a_motion_is_shown_as_it_runs() -> None:
    robot = mk.load_robot("ur5")
    q = robot.state("ready")
    trajectory = Trajectory.from_points(robot.joint_names, [0.0, 1.0], np.array([q, q + 0.3]))
    still, moving = robot.show(q), show_motion(robot, trajectory)
    assert Recording.of(still).moments("SetOrientationMessage", "/robot_") == [0.0]
    recording = Recording.of(moving)
    assert recording.duration == pytest.approx(1.0 + 0.7, abs=0.1)
    moments = recording.moments("SetOrientationMessage", "/robot_")
    assert len(moments) == 30
    assert moments[-1] == pytest.approx(1.0, abs=0.05)


def test_a_plan_is_shown_or_says_why_not() -> None:
    robot = mk.load_robot("ur5")
    q = robot.state("ready")
    plan = mk.plan(robot, q + 0.3, start=q)
    assert plan.success
    recording = Recording.of(plan.show())
    moments = recording.moments("SetOrientationMessage", "/robot_")
    assert moments[-1] == pytest.approx(plan.trajectory.duration, abs=0.1)
    failed = mk.plan(robot, q + 100.0, start=q)
    with pytest.raises(InvalidInputError, match="goal outside limits"):
        failed.show()


def test_a_plan_is_shown_in_its_own_scene_with_its_path() -> None:
    robot, scene = mk.load_robot("ur5"), mk.Scene()
    scene.add_box("wall", (0.1, 0.1, 0.1), mk.transform((0.0, 0.0, 1.4)))
    q = robot.state("ready")
    recording = Recording.of(mk.plan(robot, q + 0.3, scene=scene, start=q).show())
    assert recording.nodes("MeshMessage", "/scene/wall_")
    assert recording.nodes("LineSegmentsMessage", "/paths/0")


@pytest.mark.unsanitized
@pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed")
def test_a_saved_page_plays_without_a_network(tmp_path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    robot = mk.load_robot("ur5")
    q = robot.state("ready")
    mk.plan(robot, q + 0.5, start=q).save_html(tmp_path / "plan.html")
    mk.solve(robot, [mk.Pose("tool0", robot.pose("tool0", q))]).save_html(tmp_path / "solution.html")
    with playwright.sync_playwright() as running:
        browser = launch(running)
        context = browser.new_context(viewport={"width": 400, "height": 300}, offline=True)
        page, asked, errors = context.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        shots = []
        for name in ("solution.html", "plan.html"):
            page.goto((tmp_path / name).as_uri())
            page.wait_for_selector("canvas", timeout=120_000)
            shots += [_changed(page, shots[-1] if shots else b"")]
        _changed(page, shots[-1])  # it moves
        browser.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def _changed(page: Any, before: bytes) -> bytes:
    """The picture as soon as it differs from another one."""
    for _ in range(60):
        shot = page.screenshot(timeout=120_000, clip={"x": 0, "y": 0, "width": 400, "height": 300})
        if shot != before:
            return shot
        page.wait_for_timeout(500)
    raise AssertionError("the picture stands still")
