"""Feet that find uneven ground under a walking character.

A walk in place over level ground is made by code. Each foot then has a ProjectOntoSurface goal: the ray down from
the foot meets the terrain, the sole is laid on it and turned with it; where there is no ground, the walk's own pose is
kept. Only pelvis and legs are solved for.

Run: python examples/11_foot_placement.py
"""

import time

import numpy as np
from pictures import save_animation

import memetik as mk

FRAMES, STRIDE, LIFT = 48, 0.5, 0.10

robot = mk.load_robot("character")
start = robot.state("stand")
soles = ("left_sole", "right_sole")
level = {sole: robot.pose(sole, start) for sole in soles}
ground = level["left_sole"][2, 3]

size = (4.0, 2.0)
x, y = np.meshgrid(np.linspace(-2.0, 2.0, 80), np.linspace(-1.0, 1.0, 40), indexing="ij")
place = mk.transform((0.6, 0.0, ground))
scene = mk.Scene()
heights = 0.05 * np.sin(2.6 * x) + 0.04 * np.sin(3.1 * y + 1.0)
scene.add_heightmap("terrain", heights, size, place)
terrain = scene["terrain"].shape

legs = {*robot.group_joints("left_leg"), *robot.group_joints("right_leg"), *robot.group_joints("pelvis")}
others = [joint for joint in robot.joint_names if joint not in legs]


def problem_on(standing):
    """One foot stands: it is projected to the ground, or keeps the walk's own pose where its ray meets none."""
    swinging = next(sole for sole in soles if sole != standing)
    ground_goal = mk.ProjectOntoSurface(
        standing, "-z", terrain, fallback="open", name=standing, surface_pose=place, behind=0.5, reach=0.5
    )
    above = mk.Line(standing, direction="z", name="above its place")
    pelvis = mk.Position("pelvis", name="pelvis", priority=1)
    goals = [ground_goal, above, mk.Pose(swinging, name=swinging), pelvis, mk.MinimalDisplacement(weight=0.1)]
    return mk.Problem(robot, goals, fixed=others)


def walk(phase):
    """Poses of the soles and the place of the pelvis in a walk over level ground; a cycle is 1 long."""
    forward = mk.transform((STRIDE * phase - 0.25, 0.0, 0.0))
    poses, lifted = {}, {}
    for sole, shift in zip(soles, (0.0, 0.5), strict=True):
        t = 2.0 * np.pi * (phase + shift)
        lifted[sole] = LIFT * max(0.0, np.cos(t))
        poses[sole] = forward @ mk.transform((0.25 * STRIDE * np.sin(t), 0.0, lifted[sole])) @ level[sole]
    return poses, min(lifted, key=lifted.get), (forward @ robot.pose("pelvis", start))[:3, 3] - (0.0, 0.0, 0.10)


def height(at):
    """Of the terrain under a point."""
    i, j = ((at[k] - place[k, 3]) / size[k] + 0.5 for k in (0, 1))
    return heights[round(i * (heights.shape[0] - 1)), round(j * (heights.shape[1] - 1))]


problems = {sole: problem_on(sole) for sole in soles}
q, path, times, gaps, tilts = start, [], [], [], []
SOURCE_MS = 1.0  # a frame in the source that the task is from
for phase in np.linspace(0.0, 1.0, FRAMES):
    poses, standing, pelvis = walk(phase)
    swinging = next(sole for sole in soles if sole != standing)
    poses[swinging][2, 3] += height(poses[swinging][:3, 3])
    targets = {**poses, "above its place": poses[standing][:3, 3], "pelvis": pelvis}
    begin = time.perf_counter(), time.process_time()
    solution = problems[standing].solve(targets, seed=q, timeout=0.02)
    times.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    assert solution.success, solution.explain()
    q = solution.q
    path.append(q)
    sole = robot.pose(standing, q)
    gaps.append(abs(sole[2, 3] - ground - height(sole[:3, 3])))
    tilts.append(np.degrees(np.arccos(np.clip(sole[2, 2], -1.0, 1.0))))

save_animation("11_foot_placement", robot, path, scene, azimuth=-1.2, elevation=0.15)
wall, processor = 1e3 * np.mean(times, axis=0)
print(f"{len(times)} frames, {wall:.2f} ms each (source: {SOURCE_MS:g} ms), {processor:.2f} ms of processor time")
print(f"soles within {1e3 * np.max(gaps):.1f} mm of the ground's samples, tilted up to {max(tilts):.0f} degrees")
