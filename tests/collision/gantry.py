"""A robot that carries one shape anywhere: three slides and three turns, so that its pose is what a test says."""

import numpy as np

from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot


def gantry(*shapes, origin=None) -> Robot:
    """A floating link `body` with the given collision shapes, on a link `base` without any."""
    pose = np.eye(4) if origin is None else origin
    body = Link("body", collisions=tuple(Geometry(shape, pose) for shape in shapes))
    joint = Joint("float", "floating", "base", "body", lower=(-10.0,) * 6, upper=(10.0,) * 6)
    return Robot(Description("gantry", (Link("base"), body), (joint,)))


def random_configurations(count: int, reach: float, seed: int = 0) -> np.ndarray:
    """Places within a cube of half edge `reach`, any orientation."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(-reach, reach, (count, 3)), rng.uniform(-np.pi, np.pi, (count, 3))], axis=1)
