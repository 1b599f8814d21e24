"""Promises about pictures, drivers, files, methods of the literature and the benchmark: one function a promise."""

from __future__ import annotations

from collections.abc import Callable

import memetik as mk

Case = Callable[[], tuple[bool, str]]


def children_first() -> tuple[bool, str]:
    """A robot whose file lists links child first, and one without joints, are shown and opened in the studio."""
    from memetik.studio.app import Studio

    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    joint = '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>'
    text = f'<robot name="r"><link name="tip">{shape}</link><link name="base">{shape}</link>{joint}</robot>'
    robot = mk.load_robot(text)
    robot.show()
    with Studio(robot, port=0, folder=".") as studio:
        drawn = len(studio.robot_view.robot.links)
    return drawn == 2, f"{drawn} of 2 links drawn"


CASES: list[tuple[str, Case]] = [
    ("pictures: links listed child first, robots without joints", children_first),
]
