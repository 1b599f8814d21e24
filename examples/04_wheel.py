"""Three fingers turn a wheel: touch, line and look-at goals, 200 steps.

Each finger tip's real geometry touches the rim (Touch: no offset has to be known), at a place set by a Line through the
rim, with the soft side towards it (LookAt). The goals close in, then go round. Small displacements and centred joints
are preferred, so that arm, wrist and fingers share the motion and none runs into a limit.

Run: python examples/04_wheel.py
"""

import numpy as np
from pictures import ball, save_animation

import memetik as mk

STEPS, TURN, RADIUS = 200, 0.7, 0.032
FINGERS = {"rh_fftip": 0.35, "rh_mftip": 0.0, "rh_thtip": np.pi}

robot = mk.load_robot("shadow_hand_arm")
start = robot.q({"joint_a2": 0.5, "joint_a4": -1.4, "joint_a6": 0.9, "rh_FFJ3": 0.7, "rh_MFJ3": 0.7, "rh_THJ4": 1.0})
center = np.mean([robot.pose(tip, start)[:3, 3] for tip in FINGERS], axis=0)
axis = robot.pose("rh_palm", start)[:3, 2]  # the wheel turns about the hand's own length
first = robot.pose("rh_mftip", start)[:3, 3] - center
first -= (first @ axis) * axis
first /= np.linalg.norm(first)
second = np.cross(axis, first)


def goals(turn, radius):
    """The goals of the fingers when the wheel has turned by `turn` and the rim they touch has this radius."""
    wanted = []
    for tip, angle in FINGERS.items():
        out = np.cos(angle + turn) * first + np.sin(angle + turn) * second
        rim = center + radius * out
        wanted += [
            mk.Touch(tip.replace("tip", "distal"), rim, out, name=f"{tip} touches", tolerance=2e-4),
            mk.Line(tip, rim, out, name=f"{tip} on its line", tolerance=2e-3),
            mk.LookAt(tip, "-y", center, name=f"{tip} faces the wheel", priority=1, weight=0.2),
        ]
    return [*wanted, mk.MinimalDisplacement(weight=0.5), mk.CenterJoints(weight=0.02)]


closing = [(-0.5 * TURN, radius) for radius in np.linspace(RADIUS + 0.02, RADIUS, STEPS // 5)]
turning = [(turn, RADIUS) for turn in np.linspace(-0.5 * TURN, 0.5 * TURN, STEPS - STEPS // 5)]
q, path, times, gaps = start, [], [], []
for turn, radius in [*closing, *turning]:
    problem = mk.Problem(robot, goals(turn, radius))
    solution = problem.solve(seed=q, timeout=0.2, refine_evaluations=800)
    assert solution.success, solution.explain()
    q = solution.q
    path.append(q)
    times.append(solution.time)
    gaps.append(max(solution.errors[f"{tip} touches"]["gap"] for tip in FINGERS))

rim = [center + RADIUS * (np.cos(a) * first + np.sin(a) * second) for a in np.linspace(0.0, 6.2, 40)]
lowest, highest = center - 0.12, center + 0.12
save_animation(
    "04_wheel", robot, path, marks=[ball("wheel", point, 0.003) for point in rim],
    frame=np.stack([lowest, highest]), azimuth=-0.4, elevation=0.5,
)  # fmt: skip
steps = np.abs(np.diff(path[1:], axis=0)).max()
print(f"{STEPS} steps of {len(problem.variables)} joints, {1e3 * np.mean(times):.1f} ms each, {steps:.3f} rad at most")
print(f"finger tips touch the rim to within {1e6 * max(gaps):.0f} um over a turn of {np.degrees(TURN):.0f} degrees")
