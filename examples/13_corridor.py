"""A plate between two walls: the yaw is free, and every motion there is free of collision.

Run: python examples/13_corridor.py
"""

import numpy as np
from pictures import save_animation

import memetik as mk
from memetik.bench.scenarios.surroundings import corridor

TARGETS, MOTIONS = 100, 5

robot = mk.load_robot("racer5_plate")
walls = corridor(count=TARGETS)
free_yaw = [mk.Position("tool_tip", name="place"), mk.PartialOrientation("tool_tip", roll=np.pi, pitch=0.0, yaw=None)]
problem = mk.Problem(robot, free_yaw, scene=walls.scene)
rng = np.random.default_rng(0)
solutions = [problem.solve({"place": t[:3, 3]}, seed=robot.random(rng), timeout=0.1) for t in walls.targets]
yaws = [np.arctan2(*robot.pose("tool_tip", s.q)[[1, 0], 0]) for s in solutions if s]
print(f"{sum(map(bool, solutions))} of {len(walls.targets)} targets between the walls (source: 98.9 %)")
print(f"{1e3 * np.mean([s.time for s in solutions]):.3f} ms each (source: 81.5 ms); yaw from "
      f"{np.degrees(min(yaws)):.0f} to {np.degrees(max(yaws)):.0f} degrees")  # fmt: skip

plans = []
for target in walls.targets[:MOTIONS]:
    goals = [mk.Position("tool_tip", target[:3, 3]), free_yaw[1]]
    plans.append(mk.plan(robot, goals, scene=walls.scene, start=robot.neutral))
done = [plan for plan in plans if plan.success]
print(f"{len(done)} of {MOTIONS} motions, {np.mean([plan.trajectory.duration for plan in done]):.2f} s long on average")
path = done[0].trajectory.resampled(30.0).positions
save_animation("13_corridor", robot, path, walls.scene, rate=30.0, azimuth=-0.8, elevation=0.5)
