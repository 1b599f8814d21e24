"""Makes docs/images/hero.webp, the moving picture of the README: four scenes of memetik at work.

Run: python docs/images/hero.py [--frames N] [--scenes NAME ...] [--stills FOLDER]

Robots with meshes come from example-robot-data. The studio's scene is filmed in headless Chromium.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from marks import ball
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

import memetik as mk
from memetik.bench.report.viewer import Part, link_poses, placed, robot_parts, scene_parts
from memetik.bench.report.viewer_image import Canvas
from memetik.bench.scenarios.surroundings import allow_touch, hydrogen_tank
from memetik.robot.installed import find_installed, path_of

HERE = Path(__file__).parent
SIZE = (800, 450)
RATE = 14.0
STEEL, RED, WOOD, BLUE = (
    (0.85, 0.87, 0.90, 1.0),
    (0.86, 0.24, 0.20, 1.0),
    (0.80, 0.68, 0.50, 1.0),
    (0.45, 0.60, 0.78, 1.0),
)


def main() -> None:
    """Draw all scenes, write the picture and say how large it is."""
    options = argparse.ArgumentParser()
    options.add_argument("--frames", type=int, default=36, help="of each scene")
    options.add_argument("--scenes", nargs="+", default=["tank", "humanoid", "obstacles", "studio"])
    options.add_argument("--stills", type=Path, help="folder for one frame of each scene as PNG")
    chosen = options.parse_args()
    frames: list[Image.Image] = []
    for scene in (globals()[name] for name in chosen.scenes):
        begin, own = time.perf_counter(), list(scene(chosen.frames))
        if chosen.stills:
            chosen.stills.mkdir(parents=True, exist_ok=True)
            own[2 * len(own) // 3].save(chosen.stills / f"{scene.__name__}.png")
        frames += own
        print(f"{scene.__name__}: {len(own)} frames, {time.perf_counter() - begin:.0f} s")
    path = HERE / "hero.webp"
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1000 / RATE), loop=0, quality=58, method=6
    )
    print(f"{path.name}: {len(frames)} frames, {path.stat().st_size / 1e6:.2f} MB")


def tank(count: int) -> Iterator[Image.Image]:
    """An endoscope goes into a tank, through a hole that the planner finds itself."""
    robot, world = mk.load_robot("elise"), hydrogen_tank(count=12, rng=7)
    scene = allow_touch(world, ["tip"])
    start = robot.q({"shoulder_lift_joint": -1.9, "elbow_joint": 1.9, "wrist_1_joint": -0.4, "shoulder_pan_joint": 1.2})
    plans = (mk.plan(robot, [mk.Pose("tip", target)], scene=scene, start=start) for target in world.targets)
    plan = next(plan for plan in plans if plan.success)
    wall = [Part(p.name, p.vertices, _behind(p), np.asarray((0.60, 0.70, 0.80, 1.0))) for p in scene_parts(scene)]
    target = robot.pose("tip", plan.goal)[:3, 3]
    marks = [*wall, ball(target, 0.03)]
    path = plan.trajectory.at(np.linspace(0.0, plan.trajectory.duration, count - 6))
    text = "Into a tank, through a 7 cm hole that the planner found itself"
    yield from film(robot, [*path, *[path[-1]] * 6], marks, text, azimuth=0.25, elevation=0.22)


def _behind(part: Part) -> np.ndarray:
    """The faces of the half that the camera does not look through."""
    return part.faces[part.vertices[part.faces][:, :, 0].min(axis=1) < 0.0]


def humanoid(count: int) -> Iterator[Image.Image]:
    """Talos reaches with both hands, stands on its feet, keeps its balance and looks at its hand."""
    robot = mk.load_robot("talos").with_floating_base()
    start = robot.state("half_sitting")
    hands, feet = ("gripper_left_base_link", "gripper_right_base_link"), ("left_sole_link", "right_sole_link")
    corners = np.concatenate([_foot(robot.pose(foot, start)) for foot in feet])
    problem = mk.Problem(
        robot,
        [
            *(mk.Pose(foot, robot.pose(foot, start)) for foot in feet),
            mk.Balance(polygon=corners),
            *(mk.Position(hand, name=hand) for hand in hands),
            mk.MinimalDisplacement(weight=0.05),
        ],
    )
    home, q, path, wanted = [robot.pose(hand, start)[:3, 3] for hand in hands], start, [], []
    for t in np.linspace(0.0, 2.0 * np.pi, count):
        left = home[0] + (0.18 - 0.12 * np.cos(t), 0.10 + 0.06 * np.sin(t), 0.32 - 0.30 * np.cos(t))
        right = home[1] + (0.16 + 0.14 * np.sin(t), -0.06, 0.05 - 0.42 * np.sin(t))
        solution = problem.solve({hands[0]: left, hands[1]: right}, seed=q, approximate=True, timeout=0.2)
        q = solution.q
        path.append(q)
        wanted.append([ball(left, 0.035), ball(right, 0.035)])
    text = f"A humanoid, {robot.dof} joints: two hands, feet on the ground, balance"
    yield from film(robot, path, [], text, moving=wanted, color=STEEL, azimuth=0.55, elevation=0.18)


def _foot(pose: np.ndarray) -> np.ndarray:
    corners = np.array([[x, y, 0.0] for x in (-0.08, 0.1) for y in (-0.05, 0.05)])
    return corners @ pose[:3, :3].T + pose[:3, 3]


def obstacles(count: int) -> Iterator[Image.Image]:
    """A panda takes its hand out of a shelf and into the next compartment."""
    found = find_installed("panda")
    robot = mk.load_robot(path_of(found)) if found is not None else mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("plinth", (0.4, 0.96, 0.12), mk.transform((0.66, 0.0, 0.06)), color=WOOD)
    for k, y in enumerate((-0.45, 0.0, 0.45)):
        scene.add_box(f"side {k}", (0.3, 0.03, 0.6), mk.transform((0.66, y, 0.42)), color=WOOD)
    scene.add_box("board", (0.3, 0.93, 0.03), mk.transform((0.66, 0.0, 0.45)), color=WOOD)
    scene.add_box("top", (0.3, 0.93, 0.03), mk.transform((0.66, 0.0, 0.73)), color=WOOD)
    poses = [
        mk.transform((0.58, y, z), rpy=(0.0, np.pi / 2, 0.0)) for y, z in ((-0.22, 0.28), (0.22, 0.60), (0.22, 0.28))
    ]
    spin = (1e-3, 1e-3, np.inf)
    link, q, parts = "panda_hand", None, []
    for pose in (*poses, poses[0]):
        goals = [
            mk.Pose(link, pose, offset=mk.transform((0, 0, 0.10)), position_tolerance=1e-3, rotation_tolerance=spin)
        ]
        if q is None:
            q = mk.solve(robot, goals, scene=scene, self_collision=True, timeout=1.0).q
            continue
        plan = mk.plan(robot, goals, scene=scene, start=q)
        if plan.trajectory is None:
            raise SystemExit(f"the shelf: {plan.explain()}")
        parts.append(plan.trajectory.at(np.linspace(0.0, plan.trajectory.duration, count // 3)))
        q = plan.goal
    text = "Among obstacles: planned on real meshes, proved free of collision, timed"
    marks = [ball(pose[:3, 3] + (0.0, 0.0, 0.0), 0.02) for pose in poses]
    yield from film(
        robot, np.concatenate(parts), [*scene_parts(scene), *marks], text, color=STEEL, azimuth=-2.3, elevation=0.35
    )


def studio(count: int) -> Iterator[Image.Image]:
    """The hand's target is moved in the studio; the arm follows."""
    from playwright.sync_api import sync_playwright
    from render_studio import FLAGS, ask, opened, table

    from memetik.studio.app import Studio

    with sync_playwright() as playwright, Studio("panda", table(), port=0) as server:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS, chromium_sandbox=False)
        page = opened(browser, server)
        page.set_viewport_size({"width": 1200, "height": 675})
        time.sleep(8.0)
        name = server.session.state.goals[0].name
        for t in np.linspace(0.0, 2.0 * np.pi, count // 2):
            at = (0.50 + 0.08 * np.cos(t), -0.05 - 0.30 * np.sin(t), 0.48 + 0.10 * np.cos(2.0 * t))
            target = mk.transform(at, rpy=(np.pi, 0.35 * np.sin(t), 0.5))
            ask(server, lambda target=target: server.session.drag(name, target))
            time.sleep(1.2)
            shot = Image.open(io.BytesIO(page.screenshot(timeout=120_000))).convert("RGB")
            frame = titled(shot.resize(SIZE, Image.Resampling.LANCZOS), "The studio: drag a target, the robot follows")
            yield from (frame, frame)
        browser.close()


def film(
    robot: mk.Robot, path: Any, marks: list[Part], text: str, *, moving: Any = (), color: Any = None, **camera: float
) -> Iterator[Image.Image]:
    """A frame for each configuration, all from one place."""
    parts = robot_parts(robot, color)
    seen = [p.vertices for q in path[:: max(1, len(path) // 8)] for p in placed(parts, link_poses(robot, q))]
    points = np.concatenate([*seen, *(mark.vertices for mark in marks)])
    frame = np.stack([points.min(axis=0), points.max(axis=0)])
    frame[1, 2] += 0.06 * (frame[1, 2] - frame[0, 2])
    still = Canvas(frame, SIZE, camera["azimuth"], camera["elevation"], floor=float(frame[0, 2]))
    for mark in marks:
        still.add(mark)
    for k, q in enumerate(path):
        canvas = still.copy()
        for part in [*placed(parts, link_poses(robot, q)), *(moving[k] if len(moving) else ())]:
            canvas.add(part)
        yield titled(Image.fromarray((255 * np.clip(canvas.picture(), 0.0, 1.0)).astype(np.uint8)), text)


def titled(frame: Image.Image, text: str) -> Image.Image:
    pen = ImageDraw.Draw(frame)
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 19)
    pen.rounded_rectangle((14, 12, 34 + pen.textlength(text, font), 46), 8, fill=(32, 38, 48))
    pen.text((24, 18), text, fill="white", font=font)
    return frame


if __name__ == "__main__":
    main()
