"""Robots whose motions have closed forms: a gantry whose joint space is the plane, a pendulum, a planar arm."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.geometry.shapes import Box, Sphere
from memetik.robot.description import Description, Geometry, Inertial, Joint, Link
from memetik.robot.robot import Robot


def slide(name: str, parent: str, child: str, axis: tuple[float, float, float]) -> Joint:
    return Joint(
        name,
        "prismatic",
        parent,
        child,
        axis=axis,
        lower=(-2.0,),
        upper=(2.0,),
        velocity=(1.0,),
        acceleration=(2.0,),
        effort=(500.0,),
    )


@pytest.fixture(scope="session")
def gantry() -> Robot:
    """Slides along x and y that carry a ball of 0.05 m: q is where the ball is."""
    ball = Link("ball", Inertial(1.0, inertia=1e-3 * np.eye(3)), (Geometry(Sphere(0.05)),))
    bridge = Link("bridge", Inertial(1.0, inertia=1e-3 * np.eye(3)))
    joints = (slide("x", "frame", "bridge", (1.0, 0.0, 0.0)), slide("y", "bridge", "ball", (0.0, 1.0, 0.0)))
    return Robot(Description("gantry", (Link("frame"), bridge, ball), joints))


@pytest.fixture(scope="session")
def turntable() -> Robot:
    """One joint about the vertical, so that weight plays no part; the inertia about it is 0.4 kg m^2."""
    table = Link("table", Inertial(2.0, inertia=np.diag([0.3, 0.3, 0.4])))
    joint = Joint(
        "turn",
        "revolute",
        "base",
        "table",
        axis=(0.0, 0.0, 1.0),
        lower=(-3.0,),
        upper=(3.0,),
        velocity=(2.0,),
        acceleration=(4.0,),
        effort=(1000.0,),
    )
    return Robot(Description("turntable", (Link("base"), table), (joint,)))


@pytest.fixture(scope="session")
def elbow() -> Robot:
    """Two links of 1 m and 0.5 m in the horizontal plane, boxes of 0.1 m; the tip is the end of the second."""

    def bar(name: str, length: float) -> Link:
        origin = mk.transform((0.5 * length, 0.0, 0.0))
        return Link(
            name,
            Inertial(1.0, (0.5 * length, 0.0, 0.0), 0.01 * np.eye(3)),
            (Geometry(Box((length, 0.1, 0.1)), origin),),
        )

    def hinge(name: str, parent: str, child: str, reach: float, most: float) -> Joint:
        return Joint(
            name,
            "revolute",
            parent,
            child,
            origin=mk.transform((reach, 0.0, 0.0)),
            axis=(0.0, 0.0, 1.0),
            lower=(-most,),
            upper=(most,),
            velocity=(1.0,),
            acceleration=(3.0,),
            effort=(100.0,),
        )

    joints = (
        hinge("shoulder", "base", "upper", 0.0, 3.0),
        hinge("elbow", "upper", "fore", 1.0, 2.5),
        Joint("mount", "fixed", "fore", "hand", origin=mk.transform((0.5, 0.0, 0.0))),
    )
    links = (Link("base"), bar("upper", 1.0), bar("fore", 0.5), Link("hand"))
    return Robot(Description("elbow", links, joints))


@pytest.fixture(scope="session")
def ur5() -> Robot:
    return mk.load_robot("ur5")


@pytest.fixture(scope="session")
def panda() -> Robot:
    return mk.load_robot("panda")
