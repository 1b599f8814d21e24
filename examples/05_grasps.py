"""444 grasps of a hand, from finger tips of a hand with other proportions.

The targets are synthetic: configurations of six types of grasp are drawn for a copy of the hand whose fingers are up
to 8 % longer or shorter, as a human's would be, and the pose of each finger tip is taken. The robot's own hand then
has to bring its tips there: position first, orientation as far as it goes. (The source used recordings of human
grasps.)

Run: python examples/05_grasps.py
"""

import time

import numpy as np
from pictures import save_animation

import memetik as mk

TIPS = ("rh_fftip", "rh_mftip", "rh_rftip", "rh_lftip", "rh_thtip")
# Flexion of fingers and thumb as shares of their range, and how much they vary: a type of grasp each.
TYPES = {
    "power": (0.75, 0.6),
    "precision": (0.45, 0.7),
    "hook": (0.85, 0.1),
    "lateral": (0.7, 0.45),
    "spherical": (0.5, 0.5),
    "flat": (0.12, 0.3),
}
GRASPS = 444

robot = mk.load_robot("shadow_hand")
hand = robot.links[0]
rng = np.random.default_rng(7)


def configuration(kind):
    flexion, thumb = TYPES[kind]
    share = np.full(robot.dof, flexion)
    for k, name in enumerate(robot.joint_names):
        if "THJ" in name:
            share[k] = thumb
        if name.endswith(("J4", "WRJ1", "WRJ2")) or name == "rh_LFJ5":
            share[k] = 0.5
    share = np.clip(share + rng.normal(0.0, 0.08, robot.dof), 0.02, 0.98)
    return robot.lower + share * (robot.upper - robot.lower)


def other_hand(q, stretch):
    """Positions and turns of the tips of a hand whose fingers are `stretch` times as long from the knuckles on."""
    poses = {}
    for tip, factor in zip(TIPS, stretch, strict=True):
        knuckle = robot.pose(tip.replace("tip", "base" if "th" in tip else "knuckle"), q)
        pose = robot.pose(tip, q).copy()
        pose[:3, 3] = knuckle[:3, 3] + factor * (pose[:3, 3] - knuckle[:3, 3])
        poses[tip] = pose
    return poses


goals = []
for tip in TIPS:
    goals += [mk.Position(tip, name=tip, tolerance=1e-4), mk.Orientation(tip, name=f"{tip} turn", priority=1)]
problem = mk.Problem(robot, goals)

kinds = [list(TYPES)[k % len(TYPES)] for k in range(GRASPS)]
reached, seconds, errors, examples = 0, [], [], {}
for kind in kinds:
    poses = other_hand(configuration(kind), rng.uniform(0.92, 1.08, len(TIPS)))
    targets = {tip: pose[:3, 3] for tip, pose in poses.items()}
    targets |= {f"{tip} turn": pose[:3, :3] for tip, pose in poses.items()}
    begin = time.perf_counter(), time.process_time()
    solution = problem.solve(targets, timeout=0.002, refine=0.0005, approximate=True)
    seconds.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    errors.append([np.linalg.norm(robot.pose(tip, solution.q)[:3, 3] - poses[tip][:3, 3]) for tip in TIPS])
    reached += solution.success
    examples.setdefault(kind, solution.q)

errors = np.array(errors)
save_animation("05_grasps", robot, list(examples.values()), rate=2.0, azimuth=-0.6, elevation=0.3)
print(f"{reached} of {GRASPS} grasps with all five tips within 0.1 mm; the others are the nearest there is")
print(f"median distance of a tip {1e3 * np.median(errors):.4f} mm, mean {1e3 * errors.mean():.3f} mm")
wall, processor = 1e3 * np.mean(seconds, axis=0)
print(f"{wall:.2f} ms a grasp (source: 2.1 ms), {processor:.2f} ms of processor time")
