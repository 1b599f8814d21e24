"""A goal of your own: as a class in Python, and as a function that runs at native speed.

The hand shall be on a helix, wherever on it. The class gives the residual for a configuration; the same as a numba
function runs inside the search. Both mix with any other goal.

Run: python examples/18_own_goals.py
"""

import math
import time

import numpy as np
from pictures import ball, save_animation

import memetik as mk

CENTER, RADIUS, PITCH = np.array([0.45, 0.0]), 0.15, 0.3  # metres; metres a turn


class OnHelix(mk.Goal):
    """A link's origin is on a helix about a vertical line: r = [horizontal distance off it, height off the thread]."""

    links = ("panda_hand",)

    def residual(self, q, poses):
        x, y, z = poses[0, :3, 3]
        dx, dy = x - CENTER[0], y - CENTER[1]
        lead = (z - PITCH * math.atan2(dy, dx) / (2 * math.pi) + 0.5 * PITCH) % PITCH - 0.5 * PITCH
        return np.array([math.hypot(dx, dy) - RADIUS, lead])


def on_helix(q, poses, residual):
    dx, dy, z = poses[0, 0, 3] - 0.45, poses[0, 1, 3], poses[0, 2, 3]
    lead = (z - 0.3 * math.atan2(dy, dx) / (2 * math.pi) + 0.15) % 0.3 - 0.15
    residual[0] = math.sqrt(dx * dx + dy * dy) - 0.15
    residual[1] = lead


robot = mk.load_robot("panda")
down = mk.AlignAxis("panda_hand", axis="z", to="-z")
rows = {
    "class in Python": OnHelix(),
    "compiled function": mk.CompiledGoal(on_helix, rows=2, link_names=["panda_hand"], tolerance=1e-5),
}
for name, goal in rows.items():
    problem = mk.Problem(robot, [goal, down])
    problem.solve(timeout=1.0)  # the first call compiles
    begin = time.perf_counter()
    solutions = [problem.solve(rng=k, seed=robot.random(np.random.default_rng(k)), timeout=1.0) for k in range(20)]
    seconds = (time.perf_counter() - begin) / len(solutions)
    assert all(solutions)
    print(f"{name}: 20 of 20 solved, {1e3 * seconds:.2f} ms each")

t = np.linspace(-1.0, 4.0, 160) * math.pi
helix = np.stack([CENTER[0] + RADIUS * np.cos(t), CENTER[1] + RADIUS * np.sin(t), PITCH * t / (2 * math.pi)], axis=1)
marks = [ball("helix", x, 0.006) for x in helix]
save_animation("18_own_goals", robot, [s.q for s in solutions[:12]], rate=2.0, marks=marks)
