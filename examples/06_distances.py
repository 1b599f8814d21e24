"""An arm that keeps its distance, by goals alone: from a ball, and inside a box.

No collision model is asked: spheres on the arm have MinDistance goals to the ball's centre and to points of the box,
as one states any other goal. Where the target lies inside something solid, the arm comes as near as it may.

Run: python examples/06_distances.py
"""

import numpy as np
from pictures import ball, save_animation, save_picture

import memetik as mk

arm = mk.load_robot("iiwa14")
BALL, RADIUS, ARM = np.array([0.42, 0.0, 0.55]), 0.12, 0.09
links = [link for link in arm.links if link.startswith("link_")][2:]
around = [mk.MinDistance(link, BALL, RADIUS + ARM, name=f"{link} off the ball") for link in links]
problem = mk.Problem(arm, [mk.Position(arm.tip, name="hand", tolerance=1e-4), *around, mk.MinimalDisplacement()])

q = arm.q({"joint_a2": 0.6, "joint_a4": -1.2, "joint_a6": 0.8})
path, times, nearest = [], [], np.inf
for y in np.linspace(0.35, -0.35, 60):
    solution = problem.solve({"hand": (0.55, y, 0.55)}, seed=q, timeout=0.05, refine_evaluations=2000, approximate=True)
    q = solution.q
    path.append(q)
    times.append(solution.time)
    nearest = min(nearest, *(np.linalg.norm(arm.pose(link, q)[:3, 3] - BALL) - RADIUS for link in links))
save_animation("06_distances_ball", arm, path, marks=[ball("ball", BALL, RADIUS, (0.15, 0.15, 0.15, 1.0))])
print(f"around the ball: nearest joint centre {1e2 * nearest:.1f} cm off its surface ({1e2 * ARM:.0f} cm asked for)")
print(f"                 {1e3 * np.mean(times):.2f} ms per configuration (source: 5 ms)")

# An open box, its walls as points; six points of the arm keep away from each of them.
robot = mk.load_robot("pr2").group("right_arm")
floor, size, height = np.array([0.62, -0.15, 0.62]), 0.30, 0.22
grid = np.linspace(-0.5 * size, 0.5 * size, 4)
rim = [(x, y) for x in grid for y in grid if max(abs(x), abs(y)) > 0.49 * size]
walls = [floor + np.array([x, y, z]) for x, y in rim for z in (0.06, height)]
ground = [floor + np.array([x, y, -0.01]) for x in 0.5 * grid for y in 0.5 * grid]
points = np.array([*walls, *ground])
body = ["r_elbow_flex_link", "r_forearm_roll_link", "r_forearm_link", "r_wrist_flex_link", "r_wrist_roll_link",
        robot.tip]  # fmt: skip
clear = [mk.MinDistance(link, points, 0.05, name=f"{link} off the box") for link in body]
down = mk.AlignAxis(robot.tip, axis="x", to="-z", tolerance=0.6, priority=1)
inside = mk.Problem(robot, [mk.Position(robot.tip, name="hand", tolerance=1e-4), *clear, down])
high, low = floor + np.array([0.0, 0.0, 0.12]), floor - np.array([0.0, 0.0, 0.03])
free = inside.solve({"hand": high}, timeout=0.2)
solid = inside.solve({"hand": low}, timeout=0.2, approximate=True)
scene = mk.Scene()
for k, (dx, dy, sx, sy) in enumerate(((0.5, 0, 0.02, 1), (-0.5, 0, 0.02, 1), (0, 0.5, 1, 0.02), (0, -0.5, 1, 0.02))):
    wall = (sx * size if sx == 1 else 0.02, sy * size if sy == 1 else 0.02, height)
    scene.add_box(f"wall{k}", size=wall, pose=mk.transform(floor + np.array([dx * size, dy * size, 0.5 * height])))
save_picture("06_distances_box", robot, free.q, scene, azimuth=0.8, elevation=0.6)
print(f"into the box: {free.reason}; {len(points) * len(body)} distances in every evaluation, {1e3 * free.time:.2f} ms")
miss = np.linalg.norm(robot.pose(robot.tip, solid.q)[:3, 3] - low)
print(f"target in the solid floor: {solid.reason}, {1e2 * miss:.1f} cm from it")
