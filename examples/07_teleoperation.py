"""A humanoid teleoperated by three trackers: two hands and a head.

The stream is synthetic: smooth waving, reaching and kneeling motions with noise and a dropout, as trackers have them.
Feet stay on the ground, the pelvis is solved for, the tracker bounds velocity and smooths.

Run: python examples/07_teleoperation.py
"""

import time

import numpy as np
from pictures import save_animation

import memetik as mk

RATE, SECONDS = 100.0, 8.0

robot = mk.load_robot("valkyrie").group("full_body")
start = None
for state in ("standing", "upright", "ahead", "down", "crouch"):  # of pelvis, torso, head, arms and legs
    start = robot.state(state, default=start)
hands, feet = ("leftPalm", "rightPalm"), ("leftFoot", "rightFoot")
problem = mk.Problem(
    robot,
    [
        *(mk.Pose(hand, name=hand, rotation_scale=0.2) for hand in hands),
        mk.Orientation("upperNeckPitchLink", name="head", weight=0.3),
        *(mk.Pose(foot, robot.pose(foot, start), name=foot, weight=10.0) for foot in feet),
    ],
)
home = {link: robot.pose(link, start) for link in (*hands, "upperNeckPitchLink")}
rng = np.random.default_rng(0)


def trackers(t):
    """What the devices report: millimetres of noise, and nothing new between 3.0 and 3.2 s."""
    t = 3.0 if 3.0 < t < 3.2 else t
    left, right, head = (home[link].copy() for link in (*hands, "upperNeckPitchLink"))
    kneel = 0.12 * (0.5 - 0.5 * np.cos(np.pi * min(max(t - 4.0, 0.0), 2.0)))
    left[:3, 3] += (0.10 * np.sin(1.3 * t), 0.05 * np.sin(2.1 * t), 0.15 * (1 - np.cos(1.1 * t)) - kneel)
    right[:3, 3] += (0.08 * np.sin(0.9 * t), 0.06 * np.sin(3.0 * t), 0.10 * (1 - np.cos(1.7 * t)) - kneel)
    head[:3, :3] = mk.transform(rpy=(0.0, 0.2 * np.sin(0.8 * t), 0.4 * np.sin(0.6 * t)))[:3, :3] @ head[:3, :3]
    for pose in (left, right):
        pose[:3, 3] += rng.normal(0.0, 1e-3, 3)
    return {"leftPalm": left, "rightPalm": right, "head": head[:3, :3]}


tracker = mk.Tracker(problem, seed=start, dt=1.0 / RATE)
path, seconds, errors, slips = [], [], [], []
for k in range(int(RATE * SECONDS)):
    wanted = trackers(k / RATE)
    begin = time.perf_counter()
    step = tracker.step(wanted)
    seconds.append(time.perf_counter() - begin)
    path.append(step.q)
    errors.append([np.linalg.norm(robot.pose(hand, step.q)[:3, 3] - wanted[hand][:3, 3]) for hand in hands])
    slips.append([np.linalg.norm(robot.pose(foot, step.q)[:3, 3] - robot.pose(foot, start)[:3, 3]) for foot in feet])

save_animation("07_teleoperation", robot, path, rate=RATE, azimuth=0.5)
print(f"{len(path)} frames, {1e3 * np.mean(seconds):.2f} ms each (source: 5 ms)")
print(
    f"hands: median {1e3 * np.median(errors):.2f} mm from the trackers; feet slip at most {1e3 * np.max(slips):.2f} mm"
)
