"""An arm under physics stops before a crate that is put in its path, plans around it, and arrives.

The scene that the execution watches is changed while the arm moves. The last configuration stays that of the first
plan.

Run: python examples/20_crate_on_the_way.py
"""

import time

from pictures import save_picture

import memetik as mk

robot = mk.load_robot("ur10")
scene = mk.Scene()
scene.add_box("table", (1.6, 1.6, 0.1), mk.transform((0.6, 0.0, -0.15)))
start = robot.state("ready")
target = mk.transform((0.3, 0.75, 0.3), rpy=(3.1416, 0.0, 0.0))
plan = mk.plan(robot, [mk.Pose(robot.tip, target)], scene, start)
print(plan.explain())

simulation = mk.Simulation(robot, scene, q=start)
driver = mk.SimulatedDriver(simulation, real_time=1.0)  # so that there is time to do something meanwhile
handle = mk.execute(plan, driver, scene=scene)
while handle.progress < 0.2:
    time.sleep(0.005)
on_the_way = robot.pose(robot.tip, plan.trajectory.at(0.6 * plan.duration))
scene.add_box("crate", (0.2, 0.2, 0.2), mk.transform(on_the_way[:3, 3]))

report = handle.result()
print(report.explain())
missed = simulation.pose(robot.tip)[:3, 3] - target[:3, 3]
print(f"The tool is {1e3 * (missed @ missed) ** 0.5:.3f} mm from its target; contacts: {simulation.touches or 'none'}.")
save_picture("20_crate_on_the_way", robot, [start, plan.trajectory.positions[-1]], scene)
