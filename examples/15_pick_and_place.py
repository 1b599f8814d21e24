"""Twelve boxes picked and placed by a Panda under physics, from a task file.

Run: python examples/15_pick_and_place.py
"""

from pathlib import Path

from pictures import FOLDER

from memetik.motion.sequencer import Sequencer
from memetik.motion.task_file import load_task

task = load_task(Path(__file__).parent / "tasks" / "panda_boxes.toml")
sequencer = Sequencer(task, "simulation")
report = sequencer.run()
FOLDER.mkdir(parents=True, exist_ok=True)
print(report.explain())
assert report.success
