"""Where a mobile robot should stand: the base is part of the problem.

A Panda on a base that rolls and turns has ten joints. Three things on a table shall be picked from one place: the arm
has a configuration for each, the base one place for all of them.

Run: python examples/19_where_to_stand.py
"""

import numpy as np
from pictures import ball, save_animation

import memetik as mk

arm = mk.load_robot("panda").group("panda_arm")
scene = mk.Scene()
scene.add_box("table", size=(0.6, 1.6, 0.05), pose=mk.transform((1.2, 0.0, 0.4)))
things = [np.array([1.05, y, 0.55]) for y in (-0.35, 0.0, 0.35)]
grasps = [mk.transform(thing, rpy=(np.pi, 0.0, 0.0)) for thing in things]

# Three copies of the robot, whose bases have to be one: goals between them.
copies = mk.combine({f"at{k}": arm.with_planar_base(((-2, 2), (-2, 2), (-np.pi, np.pi))) for k in range(3)})
goals = [mk.Pose(f"at{k}/{arm.tip}", grasps[k], name=f"grasp {k}") for k in range(3)]
goals += [mk.RelativePose(f"at{k}/{arm.links[0]}", f"at0/{arm.links[0]}", np.eye(4), name=f"base {k}") for k in (1, 2)]
solution = mk.solve(copies, goals, timeout=2.0)
assert solution.success, solution.explain()
base = copies.pose(f"at0/{arm.links[0]}", solution.q)
print(
    f"one place for all: x {base[0, 3]:.3f} m, y {base[1, 3]:.3f} m, {1e3 * solution.time:.1f} ms, {copies.dof} joints"
)

standing = arm.at(base)
problem = mk.Problem(standing, [mk.Pose(arm.tip)], scene=scene)
solutions = [problem.solve(grasp, timeout=0.5) for grasp in grasps]
print(f"free of collision from there: {sum(map(bool, solutions))} of {len(grasps)}")
marks = [ball("things", thing, 0.03) for thing in things]
save_animation("19_where_to_stand", standing, [s.q for s in solutions if s], scene, rate=2.0, marks=marks, azimuth=-1.9)
