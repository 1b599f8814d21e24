"""Boxes from one side of a wall to the other, held by the friction of two fingers, by a driver that often stops early.

The task is the file tasks/panda_boxes.toml, which `memetik run` runs too; here only its first three boxes are moved.

Run: python examples/15_pick_and_place.py
"""

from dataclasses import replace
from pathlib import Path

from pictures import save_picture

import memetik as mk
from memetik.motion.execution.faults import StopsEarly

task = mk.load_task(Path(__file__).parent / "tasks" / "panda_boxes.toml")
task = replace(task, steps=task.steps[:6])
report = mk.run_task(task, wrap=lambda driver: StopsEarly(driver, None, chance=0.3))
for step in report.steps:
    again = f", gone on {step.recoveries} times after a stop" if step.recoveries else ""
    print(f"{step.label:24} {step.running:5.2f} s{again}")
print(report.message)
for name, distance in report.placed.items():
    print(f"{name} lies {1e3 * distance:.1f} mm from its target")
save_picture("15_pick_and_place", task.robot, task.robot.neutral, task.scene)
