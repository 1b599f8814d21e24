"""A parallel robot, solved as a tree with goals that close its loops.

A plane platform on three legs, each of two links. The tree holds the legs; the platform is a child of the first. Its
other two corners must meet the ends of the other legs: two goals between links. With a pose for the platform in
addition, all joints follow, also those that have no motor.

Run: python examples/16_parallel_robot.py
"""

import numpy as np
from pictures import save_animation

import memetik as mk

SIDE, PLATFORM, UPPER, LOWER = 0.5, 0.16, 0.22, 0.22


def link(name, length):
    box = f'<geometry><box size="{length} 0.02 0.02"/></geometry><origin xyz="{length / 2} 0 0"/>' if length else ""
    return f'<link name="{name}">' + (f"<collision>{box}</collision>" if length else "") + "</link>"


def joint(name, parent, child, xyz, yaw=0.0, kind="continuous"):
    axis = '<axis xyz="0 0 1"/>' if kind == "continuous" else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz[0]} {xyz[1]} 0" rpy="0 0 {yaw}"/>{axis}</joint>'
    )


def corners(side):
    return [side / np.sqrt(3.0) * np.array([np.cos(a), np.sin(a)]) for a in np.radians([210.0, 330.0, 90.0])]


parts = [link("base", 0.0)]
for k, at in enumerate(corners(SIDE)):
    parts += [link(f"upper{k}", UPPER), link(f"lower{k}", LOWER), link(f"end{k}", 0.0)]
    parts += [joint(f"motor{k}", "base", f"upper{k}", at), joint(f"knee{k}", f"upper{k}", f"lower{k}", (UPPER, 0.0))]
    parts += [joint(f"foot{k}", f"lower{k}", f"end{k}", (LOWER, 0.0), kind="fixed")]
# The platform turns about the end of leg 0; its frame is in its middle, its corners are links.
parts += [link("hub", 0.0), joint("ankle", "end0", "hub", (0.0, 0.0)), link("platform", 0.0)]
first = corners(PLATFORM)[0]
parts += [joint("middle", "hub", "platform", -first, kind="fixed")]
for k, at in enumerate(corners(PLATFORM)):
    length = float(np.linalg.norm(at))
    parts += [link(f"corner{k}", 0.0), joint(f"to_corner{k}", "platform", f"corner{k}", at, kind="fixed")]
    parts += [
        link(f"arm{k}", length),
        joint(f"arm{k}_fixed", "platform", f"arm{k}", (0, 0), np.arctan2(*at[::-1]), "fixed"),
    ]
robot = mk.load_robot(f'<robot name="parallel">{"".join(parts)}</robot>')

closed = [mk.Position(f"corner{k}", (0.0, 0.0, 0.0), relative_to=f"end{k}", name=f"loop {k}") for k in (1, 2)]
problem = mk.Problem(robot, [*closed, mk.Pose("platform", name="platform"), mk.MinimalDisplacement()])

q, path, gaps, times = robot.neutral, [], [], []
for t in np.linspace(0.0, 2.0 * np.pi, 60):
    target = mk.transform((0.06 * np.cos(t), 0.06 * np.sin(t), 0.0), rpy=(0.0, 0.0, 0.3 * np.sin(2 * t)))
    solution = problem.solve({"platform": target}, seed=q, timeout=0.5, refine_evaluations=300)
    assert solution.success, solution.explain()
    q = solution.q
    path.append(q)
    times.append(solution.time)
    gaps.append([np.linalg.norm(robot.pose(f"corner{k}", q)[:3, 3] - robot.pose(f"end{k}", q)[:3, 3]) for k in (1, 2)])

save_animation("16_parallel_robot", robot, path, azimuth=-1.57, elevation=1.2)
print(f"{len(path)} configurations of {robot.dof} joints, loops closed to {1e6 * np.max(gaps[1:]):.2f} um")
print(f"{1e3 * np.mean(times[1:]):.2f} ms each; largest step of a joint {np.abs(np.diff(path, axis=0)).max():.3f} rad")
