"""Makes the pages of the goals, docs/goals/*.md, with their pictures, from goals.toml.

Run: python docs/goals/make.py [GOAL ...]

Each goal has a problem on one robot, stated as the code that the page shows; it is solved here, and again by the tests.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.report.viewer import Part, arrows, link_poses, placed, robot_parts, scene_parts
from memetik.bench.report.viewer_image import draw_parts

HERE = Path(__file__).parent
PAGES: dict[str, dict[str, Any]] = tomllib.loads((HERE / "goals.toml").read_text(encoding="utf-8"))
ROBOTS = {
    "arm": 'robot = mk.load_robot("panda").group("panda_arm")\n',
    "body": 'robot = mk.load_robot("mannequin")\n',
}
FLOOR = """floor = mk.Scene()
floor.add_box("floor", size=(1.4, 1.4, 0.04), pose=mk.transform((0.3, 0.0, -0.02)))
"""


def code(name: str) -> str:
    entry = PAGES[name]
    setup = ROBOTS[entry["robot"]] + (FLOOR if entry.get("floor") else "") + entry.get("setup", "")
    listed = "".join(f"    {goal},\n" for goal in entry["goals"])
    options = ("scene=floor, " if entry.get("floor") else "") + "timeout=2.0, refine=0.1"
    return (
        f"import memetik as mk\n\n{setup}goals = [\n{listed}]\nsolution = mk.solve(robot, goals, {options})\n"
        "assert solution.success, solution.explain()\nprint(solution.errors)\n"
    )


def page(name: str) -> str:
    return (
        f"# {name}\n\n{PAGES[name]['text']}\n\n![A configuration that satisfies the goal]({name.lower()}.png)\n\n"
        f"```python\n{code(name)}```\n\n::: memetik.{name}\n    options:\n      show_root_heading: false\n"
    )


def picture(name: str) -> np.ndarray:
    names: dict[str, Any] = {}
    exec(code(name), names)
    robot, q = names["robot"], names["solution"].q
    parts: list[Part] = placed(robot_parts(robot), link_poses(robot, q))
    parts += scene_parts(names.get("floor") or names.get("mound"))
    marks = np.array(PAGES[name].get("marks", [])).reshape(-1, 3)
    if len(marks):
        red, down = np.tile((0.85, 0.15, 0.15, 1.0), (len(marks), 1)), np.tile((0.0, 0.0, -1.0), (len(marks), 1))
        parts.append(arrows("marks", marks, down, 0.08, red))
    azimuth = 0.8 if PAGES[name]["robot"] == "body" else -0.9
    return draw_parts(parts, size=(440, 360), azimuth=azimuth, elevation=0.35)


def main(chosen: list[str]) -> None:
    import matplotlib.image

    for name in PAGES:
        (HERE / f"{name.lower()}.md").write_text(page(name), encoding="utf-8")
    for name in chosen or PAGES:
        matplotlib.image.imsave(HERE / f"{name.lower()}.png", picture(name))
    rows = "\n".join(f"| [{name}]({name.lower()}.md) | {entry['text']} |" for name, entry in PAGES.items())
    own = "\nYour own: [write a goal](../howto/write-a-goal.md).\n"
    text = f"# The goals\n\n| goal | what it asks for |\n|---|---|\n{rows}\n{own}"
    (HERE / "index.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
