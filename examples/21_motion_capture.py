"""Motion capture edited by goals: in a walk from a BVH file a hand holds a point; the result is saved as BVH.

The file is made by code, as a recorder would write it (centimetres, degrees, Z X Y). Feet and head keep the poses of
the recording, the hand holds a point, and every other joint stays as near to the recording as these allow.

Run: python examples/21_motion_capture.py
"""

import numpy as np
from pictures import FOLDER, ball, save_animation

import memetik as mk

FRAMES, HELD = 60, np.array([0.35, -0.35, 1.55])
TURNS = "Zrotation Xrotation Yrotation"
LEG = {"Leg": -9, "Shin": -42, "Foot": -40}
ARM = {"Arm": 26, "Forearm": -28, "Hand": -25}


def limb(side, aside, parts):
    """Lines of a limb: each part hangs below the one before it."""
    heads = [
        f"JOINT {side}{name} {{ OFFSET {aside if k == 0 else 0} {height} 0 CHANNELS 3 {TURNS}"
        for k, (name, height) in enumerate(parts.items())
    ]
    return [*heads, "End Site { OFFSET 0 -4 12 }", "} " * len(heads)]


def recording(path):
    """A walk in place of a skeleton with 14 joints: swinging legs and arms, a head that nods."""
    lines = ["HIERARCHY", f"ROOT Hips {{ OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition {TURNS}"]
    lines += [f"JOINT Spine {{ OFFSET 0 22 0 CHANNELS 3 {TURNS}"]
    lines += [f"JOINT Head {{ OFFSET 0 34 0 CHANNELS 3 {TURNS} End Site {{ OFFSET 0 18 0 }} }}"]
    lines += [
        *limb("Left", 18, ARM),
        *limb("Right", -18, ARM),
        "}",
        *limb("Left", 9, LEG),
        *limb("Right", -9, LEG),
        "}",
    ]
    lines += ["MOTION", f"Frames: {FRAMES}", "Frame Time: 0.0333333"]
    for t in np.linspace(0.0, 4.0 * np.pi, FRAMES):
        swing = 25.0 * np.sin(t)
        bend = [12.0 + 12.0 * np.sin(t + side) for side in (0.0, np.pi)]
        spine, head = [0, 4, 3 * np.sin(t)], [0, 5 * np.sin(2 * t), 0]
        left_arm, right_arm = ([0, s * swing, 0, 0, -15, 0, 0, 0, 0] for s in (1, -1))
        legs = ([0, -s * swing, 0, 0, 2 * b, 0, 0, s * swing - 2 * b, 0] for s, b in zip((1, -1), bend, strict=True))
        row = [0, 92, 0, 0, 0, 0, *spine, *head, *left_arm, *right_arm, *(x for leg in legs for x in leg)]
        lines.append(" ".join(f"{x:.4f}" for x in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


recording(FOLDER / "21_walk.bvh")
walk = mk.load_bvh(FOLDER / "21_walk.bvh", scale=0.01)
robot, kept = walk.robot.at(mk.transform(rpy=(np.pi / 2, 0, 0))), ("LeftFoot", "RightFoot", "Head")  # y was up
problem = mk.Problem(
    robot,
    [
        *(mk.Pose(link, name=link) for link in kept),
        mk.Position("LeftHand", name="hand"),
        mk.MinimalDisplacement(weight=0.2),
    ],
)
edited, times = [], []
for q in walk.postures:
    targets = {link: robot.pose(link, q) for link in kept}
    solution = problem.solve({**targets, "hand": HELD}, seed=q, timeout=0.2, refine_evaluations=400)
    assert solution.success, solution.explain()
    edited.append(solution.q)
    times.append(solution.time)
walk.save(FOLDER / "21_wave.bvh", edited)

again = mk.load_bvh(FOLDER / "21_wave.bvh", scale=0.01)
hand = max(np.linalg.norm(robot.pose("LeftHand", q)[:3, 3] - HELD) for q in again.postures)
feet = max(
    np.linalg.norm(robot.pose(link, e)[:3, 3] - robot.pose(link, q)[:3, 3])
    for q, e in zip(walk.postures, again.postures, strict=True)
    for link in kept
)
save_animation("21_motion_capture", robot, edited, marks=[ball("held", HELD, 0.03)], azimuth=0.6, elevation=0.2)
print(f"{len(edited)} frames of {robot.dof} channels, {1e3 * np.mean(times):.2f} ms each")
print(
    f"read back from the file: hand within {1e6 * hand:.0f} um of its point, feet and head within {1e6 * feet:.0f} um"
)
