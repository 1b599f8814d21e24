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
from goal_pictures import picture

HERE = Path(__file__).parent
PAGES: dict[str, dict[str, Any]] = tomllib.loads((HERE / "goals.toml").read_text(encoding="utf-8"))
ROBOTS = {
    "arm": 'robot = mk.load_robot("panda").group("panda_arm")\n',
    "body": 'robot = mk.load_robot("mannequin")\n',
}
HEAD = """---
hide: [toc]
---

# The goals

Thirty goals on any links at once. In each picture the faint robot is where the search starts, the solid one is the
answer; targets, axes, cones, lines and distances are drawn. State several goals together, as hard goals or, with
`priority=1`, as soft ones ([goals and priorities](../concepts/goals.md)).

<div class="grid cards pictures" markdown>

"""
TAIL = """
</div>

Your own: [write a goal](../howto/write-a-goal.md).
"""
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
        f"# {name}\n\n{PAGES[name]['text']}\n\n"
        f"![Before, faint, and after; with what the goal asks for]({name.lower()}.png)\n\n"
        f"```python\n{code(name)}```\n\n::: memetik.{name}\n    options:\n      show_root_heading: false\n"
    )


def drawn(name: str) -> np.ndarray:
    names: dict[str, Any] = {}
    exec(code(name), names)
    scene = names.get("floor") or names.get("mound")
    return picture(names["robot"], names["goals"], names["solution"], scene)


def main(chosen: list[str]) -> None:
    import matplotlib.image

    for name in PAGES:
        (HERE / f"{name.lower()}.md").write_text(page(name), encoding="utf-8")
    for name in chosen if chosen != ["pages"] else []:
        matplotlib.image.imsave(HERE / f"{name.lower()}.png", drawn(name))
        print(f"{name.lower()}.png written", flush=True)
    cards = "\n".join(
        f"- [![{name}]({name.lower()}.png)]({name.lower()}.md)\n\n    **[{name}]({name.lower()}.md)** {entry['text']}\n"
        for name, entry in PAGES.items()
    )
    (HERE / "index.md").write_text(HEAD + cards + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(PAGES))
