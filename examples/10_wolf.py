"""An animation edited by goals: a wolf that walks, sneaks, and keeps looking at a box.

The walk is made by code. For the sneak, the paws keep the poses of the walk while pelvis and shoulders are lowered and
the tail is raised; for the look, the head turns to the box and spine and forelegs follow. Each frame starts from the
walk's own posture, so that its style survives.

Run: python examples/10_wolf.py
"""

import time

import numpy as np
from pictures import ball, save_animation

import memetik as mk

FRAMES, LOWER = 48, 0.14
BOX = np.array([1.6, 0.8, 0.5])

robot = mk.load_robot("wolf")
stand = robot.state("stand")
paws = ("left_front_sole", "right_front_sole", "left_back_sole", "right_back_sole")
feet = {paw: robot.pose(paw, stand) for paw in paws}
legs = mk.Problem(robot, [mk.Pose(paw, name=paw) for paw in paws], fixed=["pelvis_x", "pelvis_y", "pelvis_z"])


def walk(phase):
    """A frame of the walk in place: paws in diagonal pairs."""
    targets = {}
    for paw, shift in zip(paws, (0.0, 0.5, 0.5, 0.0), strict=True):
        t = 2.0 * np.pi * (phase + shift)
        targets[paw] = mk.transform((0.06 * np.sin(t), 0.0, 0.05 * max(0.0, np.cos(t)))) @ feet[paw]
    solution = legs.solve(targets, seed=stand, timeout=0.2)
    assert solution.success, solution.explain()
    return solution.q


frames = [walk(phase) for phase in np.linspace(0.0, 1.0, FRAMES)]
sneaking = mk.Problem(
    robot,
    [
        *(mk.Pose(paw, name=paw) for paw in paws),
        mk.Position("pelvis", name="pelvis", tolerance=1e-3),
        mk.Position("spine_3", name="shoulders", tolerance=1e-3),
        mk.Position("tail_tip", name="tail", priority=1),
        mk.MinimalDisplacement(weight=0.2),
    ],
)
looking = mk.Problem(
    robot,
    [
        *(mk.Pose(paw, name=paw) for paw in paws),
        mk.LookAt("head", "x", BOX, name="gaze"),
        mk.MinimalDisplacement(weight=0.2),
    ],
)
GOAL_MS = 2.0  # a frame
sneak, look, times, gaze = [], [], [], []
for q in frames:
    paws_now = {paw: robot.pose(paw, q) for paw in paws}
    lowered = {
        name: robot.pose(part, q)[:3, 3] - (0.0, 0.0, LOWER)
        for name, part in (("pelvis", "pelvis"), ("shoulders", "spine_3"))
    }
    tail = robot.pose("tail_tip", q)[:3, 3] + (0.0, 0.0, 0.25)
    for problem, targets, edited in (
        (sneaking, {**paws_now, **lowered, "tail": tail}, sneak),
        (looking, paws_now, look),
    ):
        begin = time.perf_counter(), time.process_time()
        solution = problem.solve(targets, seed=q, timeout=0.2)
        times.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
        assert solution.success, solution.explain()
        edited.append(solution.q)
    head = robot.pose("head", look[-1])
    to_box = (BOX - head[:3, 3]) / np.linalg.norm(BOX - head[:3, 3])
    gaze.append(np.degrees(np.arccos(np.clip(head[:3, 0] @ to_box, -1.0, 1.0))))

save_animation("10_wolf_sneaks", robot, sneak, azimuth=-1.2, elevation=0.2)
save_animation("10_wolf_looks", robot, look, marks=[ball("box", BOX, 0.08)], azimuth=-0.7, elevation=0.3)
slip = max(
    np.linalg.norm(robot.pose(paw, e)[:3, 3] - robot.pose(paw, q)[:3, 3])
    for q, e in zip(frames + frames, sneak + look, strict=True)
    for paw in paws
)
wall, processor = 1e3 * np.mean(times, axis=0)
print(f"{len(times)} frames, {wall:.2f} ms each (goal: {GOAL_MS:g} ms), {processor:.2f} ms of processor time")
print(f"paws within {1e6 * slip:.0f} um of the walk's")
print(f"the gaze is within {max(gaze):.4f} degrees of the box")
