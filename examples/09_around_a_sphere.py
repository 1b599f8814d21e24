"""A hand's straight way through a ball, bent around it, with the head looking on.

The poses of a humanoid's right hand are interpolated on a line that passes through a ball. Each is mended by goals:
MinDistance for points along the arm and hand, LookAt for the head, and the hand as near to its pose as that allows.

Run: python examples/09_around_a_sphere.py
"""

import numpy as np
from pictures import ball, save_animation

import memetik as mk

RADIUS, CLEAR = 0.10, 0.08
STEPS = 60

robot = mk.load_robot("valkyrie").group("torso_right_arm_head")
start = robot.state("down")
arm = ("rightElbowPitchLink", "rightForearmLink", "rightWristRollLink", "rightPalm")
base = robot.pose("rightPalm", start)
begin, end = (base[:3, 3] + offset for offset in ((0.25, -0.25, 0.25), (0.30, 0.30, 0.35)))
center = 0.5 * (begin + end)

problem = mk.Problem(
    robot,
    [
        mk.LookAt("upperNeckPitchLink", axis="x", name="gaze", tolerance=0.02, priority=1),
        *(mk.MinDistance(link, center, RADIUS + CLEAR, name=f"{link} clear") for link in arm),
        mk.Position("rightPalm", name="hand", priority=1, weight=5.0),
        mk.MinimalDisplacement(weight=0.05),
    ],
)
q, path, times, clearances, detours, gazes = start, [], [], [], [], []
for share in np.linspace(0.0, 1.0, STEPS):
    wanted = begin + share * (end - begin)
    hand = robot.pose("rightPalm", q)[:3, 3]
    solution = problem.solve({"gaze": hand, "hand": wanted}, seed=q, timeout=0.01)
    assert solution.success, solution.explain()
    q = solution.q
    path.append(q)
    times.append(solution.time)
    clearances.append(min(np.linalg.norm(robot.pose(link, q)[:3, 3] - center) - RADIUS for link in arm))
    detours.append(np.linalg.norm(robot.pose("rightPalm", q)[:3, 3] - wanted))
    head = robot.pose("upperNeckPitchLink", q)
    to_hand = robot.pose("rightPalm", q)[:3, 3] - head[:3, 3]
    gazes.append(np.degrees(np.arccos(np.clip(head[:3, 0] @ to_hand / np.linalg.norm(to_hand), -1.0, 1.0))))

save_animation("09_around_a_sphere", robot, path, marks=[ball("ball", center, RADIUS)], azimuth=0.4, elevation=0.3)
print(f"{STEPS} configurations, {1e3 * np.mean(times):.1f} ms each (source: 10 ms)")
print(f"nearest point {1e2 * min(clearances):.1f} cm off the ball ({1e2 * CLEAR:.0f} asked for)")
print(f"the hand leaves its line by up to {1e2 * max(detours):.1f} cm; the gaze is within {max(gazes):.1f} degrees")
