"""memetik finds robot postures: goals on any links of any kinematic tree, in any scene.

The public names are those in `__all__`. Each is loaded when it is first used, so that `import memetik` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from memetik import errors

if TYPE_CHECKING:
    from memetik.errors import (
        DescriptionError,
        GeometryError,
        GoalError,
        InvalidInputError,
        MemetikError,
        MissingExtraError,
        UnknownNameError,
    )
    from memetik.goals import (
        AlignAxis,
        AvoidLimits,
        Balance,
        Center,
        Clearance,
        CollisionDistance,
        CompiledGoal,
        Cone,
        Displacement,
        Distance,
        Effort,
        Goal,
        Groove,
        Huber,
        Hyperbola,
        JointFunction,
        JointValue,
        Line,
        LookAt,
        Manipulability,
        MaxDistance,
        MinDistance,
        Orientation,
        PartialOrientation,
        Penetration,
        Pivot,
        Plane,
        PointDistance,
        Pose,
        Position,
        Project,
        RelativePose,
        Scan,
        Side,
        Square,
        Swamp,
        SwampGroove,
        Touch,
    )
    from memetik.motion.driver import Driver, ExactDriver, SimulatedDriver
    from memetik.motion.execution import execute
    from memetik.motion.follow import follow
    from memetik.motion.pipeline import Planner, plan
    from memetik.motion.plan import Plan
    from memetik.motion.sequencer import run_task
    from memetik.motion.simulation import Simulation
    from memetik.motion.task import Task
    from memetik.motion.task_file import load_task
    from memetik.motion.tcp import DriverServer, TcpDriver
    from memetik.motion.trajectory import Trajectory
    from memetik.robot.bvh import load_bvh
    from memetik.robot.manipulability import manipulability
    from memetik.robot.robot import Robot, combine, load_robot, robot_from_dh
    from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere
    from memetik.robot.transforms import transform
    from memetik.scene.exact import CollisionModel
    from memetik.scene.scene import Scene
    from memetik.scene.spots import surface_spots
    from memetik.solve import methods
    from memetik.solve.inspection import inspect
    from memetik.solve.problem import Problem, solve
    from memetik.solve.problem_file import load_problem, save_problem
    from memetik.solve.solution import BatchSolution, Solution
    from memetik.solve.tracker import Tracker

__version__ = "0.1.0"

__all__ = [
    "AlignAxis",
    "AvoidLimits",
    "Balance",
    "BatchSolution",
    "Box",
    "Capsule",
    "Center",
    "Clearance",
    "CollisionDistance",
    "CollisionModel",
    "CompiledGoal",
    "Cone",
    "Cylinder",
    "DescriptionError",
    "Displacement",
    "Distance",
    "Driver",
    "DriverServer",
    "Effort",
    "ExactDriver",
    "GeometryError",
    "Goal",
    "GoalError",
    "Groove",
    "Huber",
    "Hyperbola",
    "InvalidInputError",
    "JointFunction",
    "JointValue",
    "Line",
    "LookAt",
    "Manipulability",
    "MaxDistance",
    "MemetikError",
    "Mesh",
    "MinDistance",
    "MissingExtraError",
    "Orientation",
    "PartialOrientation",
    "Penetration",
    "Pivot",
    "Plan",
    "Plane",
    "Planner",
    "PointDistance",
    "Pose",
    "Position",
    "Problem",
    "Project",
    "RelativePose",
    "Robot",
    "Scan",
    "Scene",
    "Side",
    "SimulatedDriver",
    "Simulation",
    "Solution",
    "Sphere",
    "Square",
    "Swamp",
    "SwampGroove",
    "Task",
    "TcpDriver",
    "Touch",
    "Tracker",
    "Trajectory",
    "UnknownNameError",
    "combine",
    "errors",
    "execute",
    "follow",
    "inspect",
    "load_bvh",
    "load_problem",
    "load_robot",
    "load_task",
    "manipulability",
    "methods",
    "plan",
    "robot_from_dh",
    "run_task",
    "save_problem",
    "solve",
    "surface_spots",
    "transform",
]

_HOME = {
    "memetik.errors": (
        "DescriptionError",
        "GeometryError",
        "GoalError",
        "InvalidInputError",
        "MemetikError",
        "MissingExtraError",
        "UnknownNameError",
    ),
    "memetik.goals": (
        "AlignAxis",
        "AvoidLimits",
        "Balance",
        "Center",
        "Clearance",
        "CollisionDistance",
        "CompiledGoal",
        "Cone",
        "Displacement",
        "Distance",
        "Effort",
        "Goal",
        "Groove",
        "Huber",
        "Hyperbola",
        "JointFunction",
        "JointValue",
        "Line",
        "LookAt",
        "Manipulability",
        "MaxDistance",
        "MinDistance",
        "Orientation",
        "PartialOrientation",
        "Penetration",
        "Pivot",
        "Plane",
        "PointDistance",
        "Pose",
        "Position",
        "Project",
        "RelativePose",
        "Scan",
        "Side",
        "Square",
        "Swamp",
        "SwampGroove",
        "Touch",
    ),
    "memetik.motion.driver": ("Driver", "ExactDriver", "SimulatedDriver"),
    "memetik.motion.execution": ("execute",),
    "memetik.motion.sequencer": ("run_task",),
    "memetik.motion.simulation": ("Simulation",),
    "memetik.motion.task": ("Task",),
    "memetik.motion.task_file": ("load_task",),
    "memetik.motion.tcp": ("DriverServer", "TcpDriver"),
    "memetik.motion.follow": ("follow",),
    "memetik.motion.pipeline": ("Planner", "plan"),
    "memetik.motion.plan": ("Plan",),
    "memetik.motion.trajectory": ("Trajectory",),
    "memetik.robot.bvh": ("load_bvh",),
    "memetik.robot.manipulability": ("manipulability",),
    "memetik.robot.robot": ("Robot", "combine", "load_robot", "robot_from_dh"),
    "memetik.robot.shapes": ("Box", "Capsule", "Cylinder", "Mesh", "Sphere"),
    "memetik.robot.transforms": ("transform",),
    "memetik.scene.exact": ("CollisionModel",),
    "memetik.scene.scene": ("Scene",),
    "memetik.scene.spots": ("surface_spots",),
    "memetik.solve": ("methods",),
    "memetik.solve.inspection": ("inspect",),
    "memetik.solve.problem": ("Problem", "solve"),
    "memetik.solve.problem_file": ("load_problem", "save_problem"),
    "memetik.solve.solution": ("BatchSolution", "Solution"),
    "memetik.solve.tracker": ("Tracker",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'memetik' has no attribute {name!r}; {errors.suggest(name, __all__)}")
    home = import_module(_MODULE_OF[name])
    value = getattr(home, name) if hasattr(home, name) else import_module(f"{home.__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Importing a subpackage binds its name here; where a public function has that name, the function wins."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _MODULE_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
