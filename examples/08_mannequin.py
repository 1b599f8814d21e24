"""A mannequin of 42 joints follows hands and feet, hundreds of times a second.

Four pose goals, moved as if by hand; the tracker keeps velocity limits, comes through targets that cannot be reached,
and does not jump.

Run: python examples/08_mannequin.py
"""

import time

import numpy as np
from pictures import save_animation

import memetik as mk

RATE, SECONDS = 250.0, 6.0
FAR = (2.0, 4.0)  # seconds between which a hand's target goes out of reach
ENDS = ("left_hand", "right_hand", "left_sole", "right_sole")

robot = mk.load_robot("mannequin")
start = robot.state("stand")
problem = mk.Problem(robot, [mk.Pose(link, name=link) for link in ENDS])
swing = np.random.default_rng(3).uniform(0.1, 0.3, robot.dof)
tempo = np.random.default_rng(4).uniform(1.0, 2.5, robot.dof)


def targets(t):
    """Poses of a smooth motion of the whole body, of which one hand leaves for a place out of reach for a while."""
    poses = {link: robot.pose(link, posture(t)) for link in ENDS}
    if FAR[0] < t < FAR[1]:
        poses["right_hand"] = poses["right_hand"].copy()
        poses["right_hand"][0, 3] += 2.5 * np.sin(np.pi * (t - FAR[0]) / (FAR[1] - FAR[0])) ** 2
    return poses


def posture(t):
    moved = start + swing * (1.0 - np.cos(tempo * t)) * np.where(start > 0.5 * (robot.lower + robot.upper), -1.0, 1.0)
    return np.clip(moved, robot.lower, robot.upper)


tracker = mk.Tracker(problem, seed=start, dt=1.0 / RATE)
path, seconds, errors = [], [], []
for k in range(int(RATE * SECONDS)):
    wanted = targets(k / RATE)
    begin = time.perf_counter()
    step = tracker.step(wanted)
    seconds.append(time.perf_counter() - begin)
    path.append(step.q)
    errors.append(max(np.linalg.norm(robot.pose(link, step.q)[:3, 3] - wanted[link][:3, 3]) for link in ENDS))

speed = np.abs(np.diff(path, axis=0)) * RATE / robot.velocity
save_animation("08_mannequin", robot, path, rate=RATE, azimuth=0.7)
print(f"{len(path)} steps, {1e3 * np.mean(seconds):.3f} ms each: {1.0 / np.mean(seconds):.0f} Hz (source: 250 Hz)")
clock = np.arange(len(path)) / RATE
within = (clock < FAR[0]) | (clock > FAR[1] + 0.5)
print(
    f"within reach at most {1e3 * np.max(np.array(errors)[within]):.3f} mm off; beyond it {1e2 * np.max(errors):.0f} cm"
)
print(f"at the end {1e3 * errors[-1]:.3f} mm; largest share of a velocity limit {100 * speed.max():.0f} %")
