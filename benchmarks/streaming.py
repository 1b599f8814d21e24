"""Trackers among obstacles: random and adversarial targets, obstacles that move, every step checked by exact geometry.

    python benchmarks/streaming.py                       small, half a minute
    python benchmarks/streaming.py --steps 1000000       in all, shared out among the robots
    python benchmarks/streaming.py --robot panda --rng 7

Targets are poses of random configurations, of obstacles (inside of them), of the robot's own base, and two that change
places at every step. Obstacles fly about, or straight at the tip, no faster than the tracker was told. After every step
in which the robot moved, coal looks at its configuration among the obstacles as they are then. Bars: no contact but at
rest, no limit of position, velocity or acceleration exceeded, 5000 steps a second on a core (time of the processor) for
an arm; where nothing is in the way the same answers as without a scene in at most 1.2 times the time. Exit code 1 if
one is missed.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from mesh_truth import robot_path

import memetik as mk

ROBOTS = {
    "panda": ("panda", ("panda_hand",), True),
    "xarm7": ("xarm7", ("link7",), True),
    "baxter": ("baxter", ("left_gripper_base_link", "right_gripper_base_link"), False),
}
"""File, tips, whether it is one arm."""

SPEED = 0.3  # metres per second that obstacles keep to
MARGIN = 0.005
STRETCH = 500  # steps from one kind of targets to the next
CHASE = 250  # steps of 1000 in which an obstacle flies at a tip
RATE, FREE_RATIO = 5000.0, 1.2
KINDS = ("random", "inside", "self", "shake")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", action="append", choices=list(ROBOTS))
    parser.add_argument("--steps", type=int, default=6000, help="in all")
    parser.add_argument("--rng", type=int, default=0)
    given = parser.parse_args()
    names = given.robot or list(ROBOTS)
    held = [stream(name, given.steps // len(names), given.rng) for name in names]
    held += [compare_with_free(name) for name in names]
    return 0 if all(held) else 1


class World:
    """Objects that stand, and objects that move about or at the tips."""

    def __init__(self, robot: Any, tips: tuple[str, ...], rng: np.random.Generator):
        self.robot, self.tips, self.rng, self.scene = robot, tips, rng, mk.Scene()
        self.scene.add_box("table", (0.8, 1.6, 0.05), mk.transform((0.75, 0.0, -0.25)))
        self.scene.add_cylinder("post", 0.05, 1.0, mk.transform((0.45, -0.5, 0.3)))
        self.scene.add_box("shelf", (0.3, 0.5, 0.04), mk.transform((0.6, 0.35, 0.45)))
        self.scene.add_sphere("ball", 0.06, mk.transform((1.2, 0.6, 0.6)))
        self.scene.add_box("drone", (0.2, 0.1, 0.1), mk.transform((1.2, -0.6, 0.5)))
        self.moving = ("ball", "drone")
        self.velocity = dict.fromkeys(self.moving, np.zeros(3))

    def move(self, q: np.ndarray, dt: float, step: int) -> None:
        """Every object by less than SPEED * dt: for a while in one direction, or at a tip."""
        for number, name in enumerate(self.moving):
            at = self.scene[name].pose[:3, 3]
            if (step + 500 * number) % 1000 < CHASE:
                way = self.robot.pose(self.tips[number % len(self.tips)], q)[:3, 3] - at
                self.velocity[name] = SPEED * 0.999 * way / max(float(np.linalg.norm(way)), 1e-9)
            elif step % 200 == 0 or np.linalg.norm(at - (0.5, 0.0, 0.4)) > 1.2:
                away = at - self.robot.pose(self.tips[0], q)[:3, 3]
                way = self.rng.normal(size=3) + 1.5 * (np.array([0.5, 0.0, 0.4]) - at) + 3.0 * away
                self.velocity[name] = SPEED * 0.999 * way / float(np.linalg.norm(way))
            self.scene.move(name, mk.transform(at + dt * self.velocity[name]))

    def targets(self, kind: str, q: np.ndarray, step: int) -> list[np.ndarray]:
        """One pose for each tip."""
        found: list[np.ndarray] = []
        drawn = self.robot.random(self.rng) if step % 250 == 0 or kind == "shake" else None
        for tip in self.tips:
            if kind == "inside":
                names = self.scene.names
                found.append(self.scene[names[(step // 250) % len(names)]].pose.copy())
            elif kind == "self":
                found.append(self.robot.pose(self.robot.links[(step // 250) % 3], q))
            else:
                found.append(self.robot.pose(tip, drawn) if drawn is not None else self._last[len(found)])
        self._last = found
        return found

    _last: list[np.ndarray]


def stream(name: str, steps: int, seed: int) -> bool:
    """A robot among obstacles."""
    file, tips, is_arm = ROBOTS[name]
    robot = mk.load_robot(robot_path(file))
    rng = np.random.default_rng(seed)
    world = World(robot, tips, rng)
    problem = mk.Problem(robot, [mk.Pose(tip) for tip in tips], scene=world.scene, self_collision=True, margin=MARGIN)
    start = _free_start(robot, world.scene, rng)
    dt = 2e-3
    tracker = mk.Tracker(problem, seed=start, dt=dt, obstacle_speed=dict.fromkeys(world.moving, SPEED))
    model = mk.CollisionModel(robot, world.scene)
    velocity, acceleration = tracker.limits
    seconds, slowest, contacts, over, changed, resting, last = 0.0, 0.0, 0, 0.0, 0, 0, np.zeros(robot.dof)
    covered = 0.0
    for step in range(steps):
        targets = world.targets(KINDS[(step // STRETCH) % len(KINDS)], tracker.q, step)
        begin = time.thread_time()
        done = tracker.step(*targets)
        took = time.thread_time() - begin
        seconds, slowest = seconds + took, max(slowest, took)
        world.move(done.q, dt, step)
        moves = bool(np.abs(done.velocity).max() > 0.0)
        contacts += moves and bool(model.collides(done.q))
        outside = np.maximum(robot.lower - done.q, done.q - robot.upper).max()
        push = (np.abs(done.velocity - last) / dt / acceleration).max()
        over = max(over, outside, float((np.abs(done.velocity) / velocity).max()) - 1.0, float(push) - 1.0)
        covered += float(np.abs(done.velocity).max()) * dt
        last, changed, resting = done.velocity, changed + (done.obstacle is not None), resting + (not moves)
    rate = steps / seconds
    held = contacts == 0 and over < 1e-6 and (rate >= RATE or not is_arm)
    print(
        f"{name:7} {steps} steps: {contacts} contacts (goal 0), limits exceeded by {over:.1e} (goal 0); "
        f"{rate:.0f} steps a second{f' (goal {RATE:.0f})' if is_arm else ''}, slowest {1e3 * slowest:.2f} ms; "
        f"{100 * changed / steps:.1f} % changed by obstacles, {100 * resting / steps:.1f} % at rest, "
        f"{covered:.1f} rad of way{'' if held else '   MISSED'}",
        flush=True,
    )
    return held


def compare_with_free(name: str, steps: int = 3000) -> bool:
    """The same targets with nothing in the way: answers and time, in turns."""
    file, tips, _ = ROBOTS[name]
    robot = mk.load_robot(robot_path(file))
    scene = mk.Scene()
    scene.add_box("far", (0.5, 0.5, 0.5), mk.transform((5.0, 5.0, 5.0)))
    start = _free_start(robot, scene, np.random.default_rng(1))
    goals = [mk.Pose(tip) for tip in tips]
    free = mk.Tracker(mk.Problem(robot, goals), seed=start, dt=1e-3)
    guarded = mk.Tracker(mk.Problem(robot, goals, scene=scene, self_collision=True), seed=start, dt=1e-3)
    homes = [robot.pose(tip, start) for tip in tips]
    differs, ratios = 0, []
    for _ in range(5):
        free.reset(start)
        guarded.reset(start)
        spent = np.zeros(2)
        for step in range(steps):
            turn = 2e-3 * step
            targets = [mk.transform((0.04 * np.sin(turn), 0.04 * np.cos(turn) - 0.04, 0.0)) @ home for home in homes]
            begin = time.thread_time()
            first = free.step(*targets)
            middle = time.thread_time()
            second = guarded.step(*targets)
            spent += middle - begin, time.thread_time() - middle
            differs += not np.array_equal(first.q, second.q)
        ratios.append(spent[1] / spent[0])
    ratio = float(np.median(ratios))
    held = differs == 0 and ratio <= FREE_RATIO
    print(
        f"{name:7} nothing in the way: {differs} of {5 * steps} answers differ (goal 0), {ratio:.2f} times the "
        f"time of a free tracker (goal {FREE_RATIO}){'' if held else '   MISSED'}",
        flush=True,
    )
    return held


def _free_start(robot: Any, scene: mk.Scene, rng: np.random.Generator) -> np.ndarray:
    checker = mk.MeshChecker(robot, scene, margin=0.03)
    centre = robot.neutral
    for spread in np.linspace(0.0, 1.0, 2000):
        q = robot.clip(centre + spread * (robot.random(rng) - centre))
        if not checker.collides(q):
            return q
    raise SystemExit(f"no free configuration of {robot.name!r} was found.")


if __name__ == "__main__":
    raise SystemExit(main())
