"""Every bundled robot and every kind of joint: kinematics, one tip, all tips at once."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from cases import Case, of_solution, robot

import memetik as mk

EVALUATIONS = 3000

BUNDLED = (
    "panda", "ur3", "ur5", "ur10", "ur3e", "ur5e", "ur10e", "iiwa14", "pr2", "valkyrie", "elise", "fanuc_m10ia",
    "kr120", "racer5", "racer5_plate", "racer3", "racer3_plate", "katana300", "katana400", "youbot_arm", "powerball",
    "baxter", "shadow_hand", "shadow_hand_arm", "ur10_curved_endoscope", "mannequin", "character", "wolf", "chain30",
    "chain60",
)  # fmt: skip

URDF = """
<robot name="joints">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/><link name="tip"/>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.8" velocity="1" effort="10"/></joint>
  <joint name="ball" type="spherical"><parent link="a"/><child link="b"/><origin xyz="0.1 0 0.2"/></joint>
  <joint name="endless" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="hinge" type="revolute"><parent link="c"/><child link="d"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2.5" velocity="1" effort="10"/></joint>
  <joint name="follower" type="revolute"><parent link="d"/><child link="e"/><origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="1" effort="10"/><mimic joint="hinge" multiplier="-0.5" offset="0.1"/></joint>
  <joint name="tool" type="fixed"><parent link="e"/><child link="tip"/><origin xyz="0.1 0 0"/></joint>
</robot>
"""


@cache
def made(name: str) -> Any:
    """Robots with joints that the bundled ones do not have, or have seldom."""
    room = [(-1.0, 1.0)] * 3 + [(-math.pi, math.pi)] * 3
    if name == "joint-kinds":
        return mk.load_robot(URDF)
    if name == "scara":
        table = [[0, 0.3, 0.3, 0], [0, 0, 0.25, math.pi], [0, 0.1, 0, 0], [0, 0.05, 0, 0]]
        return mk.robot_from_dh(table, kinds="RRPR", limits=[(-2, 2), (-2.5, 2.5), (0, 0.2), (-3, 3)], velocity=1.0)
    if name == "floating-panda":
        return robot("panda").with_floating_base(room)
    if name == "planar-ur5":
        return robot("ur5").with_planar_base([(-1, 1), (-1, 1), (-3, 3)])
    if name == "two-arms":
        return mk.combine({"left": robot("ur5"), "right": robot("panda").at(mk.transform((0.0, -0.8, 0.0)))})
    if name == "tool":
        return robot("ur5").with_tool(mk.transform((0.0, 0.0, 0.15)))
    return robot("panda").with_limit_margin(0.3)


MADE = ("joint-kinds", "scara", "floating-panda", "planar-ur5", "two-arms", "tool", "narrow")


def find(name: str) -> Any:
    return made(name) if name in MADE else robot(name)


def reach(name: str, *, all_tips: bool) -> dict[str, Any]:
    """The poses of the tips at a random configuration, searched for from another."""
    found = find(name)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    q, seed = found.random(rng), found.random(rng)
    tips = [tip for tip in found.tips if found.moves(tip).any()]
    goals = [mk.Position(tip, found.pose(tip, q)[:3, 3]) for tip in tips[1:]] if all_tips else []
    first = tips[0] if tips else found.tip
    problem = mk.Problem(found, [mk.Pose(first, found.pose(first, q)), *goals])
    return of_solution(problem.solve(seed=seed if all_tips else None, evaluations=EVALUATIONS))


def kinematics(name: str) -> dict[str, Any]:
    """Pose, Jacobian, centre of mass and torques at one configuration."""
    found = find(name)
    tip, q = found.tips[0], found.random(np.random.default_rng(7))
    answer = {"q": q, "pose": found.pose(tip, q), "jacobian": found.jacobian(tip, q)[:, :8]}
    if found.mass > 0.0:
        answer |= {"center_of_mass": found.center_of_mass(q), "torques": found.gravity_torques(q)[:8]}
    return answer


def digest(name: str) -> dict[str, Any]:
    """What stores and caches know a robot by; numpy makes part of the numbers in it."""
    return {"digest": find(name).content_digest.hex()}


def cases() -> Iterator[Case]:
    for name in (*BUNDLED, *MADE):
        yield Case(f"robots/{name}/pose", lambda name=name: reach(name, all_tips=False), core=True)
        yield Case(f"robots/{name}/kinematics", lambda name=name: kinematics(name), core=True)
        yield Case(f"robots/{name}/digest", lambda name=name: digest(name), blas=True)
    for name in ("pr2", "valkyrie", "baxter", "shadow_hand", "shadow_hand_arm", "mannequin", "character", "wolf",
                 "two-arms"):  # fmt: skip
        yield Case(f"robots/{name}/all-tips", lambda name=name: reach(name, all_tips=True), core=True)
