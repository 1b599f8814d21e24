"""A slow lifting torso that moves only when it must.

The hand of a PR2-like robot follows a line. A soft goal for small displacements, each joint weighed by one over its
velocity, leaves the work to the quick arm; without it the torso, which needs half a minute for its range, joins in.

Run: python examples/01_slow_torso.py
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from pictures import save_picture, save_plot

import memetik as mk

STEPS = 100
TIMEOUT = 2e-3

robot = mk.load_robot("pr2").group("left_arm_and_torso")
torso = robot.joint_names.index("torso_lift_joint")
start = robot.q({"torso_lift_joint": 0.15, "l_elbow_flex_joint": -1.2, "l_shoulder_pan_joint": 0.4})
first = robot.pose(robot.tip, start)
targets = np.repeat(first[None], STEPS, axis=0)
targets[:, :3, 3] += np.linspace((0.0, 0.0, 0.0), (0.05, -0.10, 0.25), STEPS)


def follow(goals):
    """The configurations along the line, each searched from the one before, and the milliseconds of a solve."""
    problem, q, path, times = mk.Problem(robot, goals), start, [], []
    for target in targets:
        solution = problem.solve(target, seed=q, timeout=TIMEOUT)
        assert solution.success, solution.explain()
        q = solution.q
        path.append(q)
        times.append(solution.time)
    return np.array(path), 1e3 * np.mean(times)


plain, plain_time = follow([mk.Pose(robot.tip)])
quiet, quiet_time = follow([mk.Pose(robot.tip), mk.MinimalDisplacement()])

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
for axis, path, title in zip(axes, (plain, quiet), ("pose alone", "pose, small displacement preferred"), strict=True):
    for k, name in enumerate(robot.joint_names):
        axis.plot(path[:, k] - start[k], label=name, linewidth=3 if k == torso else 1)
    axis.set(title=title, xlabel="step", ylabel="moved, radians or metres")
axes[1].legend(fontsize=7)
save_plot("01_slow_torso", figure)
save_picture("01_slow_torso_robot", robot, quiet[[0, -1]])


def lift(path):
    return 1e3 * np.abs(np.diff(path[:, torso], prepend=start[torso])).sum()


print(f"torso's travel: {lift(plain):.1f} mm with the pose alone, {lift(quiet):.1f} mm with the soft goal")
print(f"time per configuration: {plain_time:.3f} ms and {quiet_time:.3f} ms (bounded by {1e3 * TIMEOUT:g} ms)")
