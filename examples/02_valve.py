"""Two hands turn a valve, told only where the finger tips are.

Each of the four finger tips has a position goal on the valve's rim; arms and torso follow from them. Turning one way
the tips are close together and hold the rim, on the way back they are apart. Small displacements and the middle of the
joints' ranges are preferred.

Run: python examples/02_valve.py
"""

import numpy as np
from pictures import ball, save_animation

import memetik as mk

CENTER, RADIUS = np.array([0.62, 0.0, 0.85]), 0.16
HELD, RELEASED = 0.035, 0.075  # metres between the tips of a hand
STEPS = 40

robot = mk.load_robot("pr2")
tips = [f"{side}_gripper_{finger}_finger_tip_link" for side in "lr" for finger in "lr"]
problem = mk.Problem(
    robot,
    [
        *(mk.Position(tip, name=tip, tolerance=1e-4) for tip in tips),
        mk.MinimalDisplacement(),
        mk.AvoidLimits(weight=0.1),
    ],
)


def finger_tips(turn, gap):
    """Where the tips are when the valve has turned by `turn`: a pair on either side of the rim, `gap` apart."""
    points = []
    for side in (0.0, np.pi):
        angle = np.pi / 2 - side + turn
        out = np.array([0.0, np.cos(angle - np.pi / 2), np.sin(angle - np.pi / 2)])
        rim = CENTER + RADIUS * out
        points += [rim + 0.5 * gap * out, rim - 0.5 * gap * out]
    return dict(zip(tips, points, strict=True))


forth = [(turn, HELD) for turn in np.linspace(-0.5, 0.5, STEPS)]
opened = [(0.5, gap) for gap in np.linspace(HELD, RELEASED, 8)]
back = [(turn, RELEASED) for turn in np.linspace(0.5, -0.5, STEPS)]
closed = [(-0.5, gap) for gap in np.linspace(RELEASED, HELD, 8)]
q = robot.q({"torso_lift_joint": 0.2, "l_elbow_flex_joint": -1.5, "r_elbow_flex_joint": -1.5})
path, times, worst = [], [], 0.0
for turn, gap in [*forth, *opened, *back, *closed]:
    targets = finger_tips(turn, gap)
    solution = problem.solve(targets, seed=q, timeout=0.1, refine_evaluations=4000)
    assert solution.success, solution.explain()
    q = solution.q
    path.append(q)
    times.append(solution.time)
    worst = max(worst, *(np.linalg.norm(robot.pose(tip, q)[:3, 3] - point) for tip, point in targets.items()))

marks = [ball("valve", CENTER + RADIUS * np.array([0, np.cos(a), np.sin(a)]), 0.012) for a in np.linspace(0, 6.2, 40)]
save_animation("02_valve", robot, path, marks=marks, azimuth=0.9)
steps = np.abs(np.diff(path[1:], axis=0)).max(axis=1)
print(f"{len(path)} configurations, {1e3 * np.mean(times):.2f} ms each, finger tips within {1e6 * worst:.1f} um")
print(f"largest step of a joint: {steps.max():.3f} rad")
