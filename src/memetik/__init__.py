"""memetik finds robot postures: goals on any links of any kinematic tree, in any scene."""

from memetik import errors
from memetik.errors import (
    DescriptionError,
    GeometryError,
    GoalError,
    InvalidInputError,
    MemetikError,
    MissingExtraError,
    UnknownNameError,
)
from memetik.robot.manipulability import manipulability
from memetik.robot.robot import Robot, combine, load_robot, robot_from_dh
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.robot.transforms import transform

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "DescriptionError",
    "GeometryError",
    "GoalError",
    "InvalidInputError",
    "MemetikError",
    "Mesh",
    "MissingExtraError",
    "Robot",
    "Sphere",
    "UnknownNameError",
    "combine",
    "errors",
    "load_robot",
    "manipulability",
    "robot_from_dh",
    "transform",
]
