"""A session as the Python script that makes the same thing."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Plane, Sphere
from memetik.geometry.transforms import quaternion_from_matrix
from memetik.goals.base import Goal
from memetik.goals.losses import Loss
from memetik.solve.methods.named import method_code
from memetik.studio.session.session import State

_SIZES = {Box: ("size",), Sphere: ("radius",)} | dict.fromkeys((Cylinder, Capsule, Cone), ("radius", "length"))


def script_of(state: State) -> str:
    """The script. Shapes that no line could hold, such as meshes, are read from the scene's file."""
    goals = [entry.stated for entry in state.enabled]
    source = repr(state.source) if state.source else f"...)  # {state.robot.name!r}, as it was made elsewhere"
    lines = ["import memetik as mk", "", f"robot = mk.load_robot({source})"]
    if goals:
        lines += ["goals = [", *(f"    {_goal(goal)}," for goal in goals), "]"]
    scene = _scene(state)
    lines += scene
    arguments = ["robot", "goals"] + (["scene=scene"] if scene else [])
    if bool(scene) != state.self_collision:
        arguments.append(f"self_collision={state.self_collision}")
    if state.margin:
        arguments.append(f"margin={state.margin!r}")
    if state.held:
        arguments.append(f"fixed={sorted(state.held)!r}")
    seed = ", ".join(f"{name!r}: {_code(value)}" for name, value in state.robot.joints(state.q).items())
    options = "".join(
        f", {name}={method_code(state.options) if name == 'method' else repr(value)}"
        for name, value in state.options.items()
        if name != "parameters"
    )
    if goals:
        lines += [
            f"problem = mk.Problem({', '.join(arguments)})",
            f"solution = problem.solve(seed=robot.q({{{seed}}}){options})",
            "print(solution.explain())",
        ]
    else:
        lines += [f"q = robot.q({{{seed}}})"]
    if state.configurations:
        kept = (f"    {name!r}: {_code(q)}," for name, q in state.configurations.items())
        lines += ["", "configurations = {", *kept, "}"]
    if len(state.waypoints) > 1:
        lines += _plan(state, bool(scene))
    return "\n".join(lines) + "\n"


def _plan(state: State, scene: bool) -> list[str]:
    """The motion through the waypoints, as the studio plans it: at rest in each."""
    options = ", scene=scene" if scene else ""
    options += f", self_collision={state.self_collision}" if state.self_collision != scene else ""
    options += f", margin={state.margin!r}" if state.margin else ""
    return [
        f"waypoints = [configurations[name] for name in {list(state.waypoints)!r}]",
        "trajectory = None",
        "for start, goal in zip(waypoints, waypoints[1:]):",
        f"    plan = mk.plan(robot, robot.q(goal), start=robot.q(start){options})",
        "    if not plan.success:",
        '        raise SystemExit(f"{plan.stage}: {plan.reason}")',
        "    trajectory = plan.trajectory if trajectory is None else trajectory.then(plan.trajectory)",
        'print(f"{trajectory.duration:.2f} s")',
    ]


def _goal(goal: Goal) -> str:
    parts = []
    for f in sorted(fields(goal), key=lambda f: f.name != "link"):
        value = getattr(goal, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if not f.init or (type(value) is type(default) and _equal(value, default)):
            continue
        parts.append(_code(value) if f.name == "link" else f"{f.name}={_code(value)}")
    return f"mk.{type(goal).__name__}({', '.join(parts)})"


def _equal(value: Any, default: Any) -> bool:
    return np.array_equal(value, default) if isinstance(value, np.ndarray) else value == default


def _code(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.shape == (4, 4):
        position, quaternion = value[:3, 3], quaternion_from_matrix(value[:3, :3])
        rotation = "" if np.allclose(value[:3, :3], np.eye(3), atol=1e-12) else f", quat_xyzw={_code(quaternion)}"
        return f"mk.transform({_code(position)}{rotation})"
    if isinstance(value, np.ndarray):
        return _code(tuple(value.tolist()))
    if isinstance(value, np.number):
        return _code(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, float):
        return repr(round(value, 12) + 0.0)
    if isinstance(value, tuple | list):
        inside = ", ".join(_code(part) for part in value)
        return f"({inside},)" if isinstance(value, tuple) and len(value) == 1 else f"({inside})"
    if isinstance(value, Loss):
        return "mk." + repr(value)
    return repr(value)


def _scene(state: State) -> list[str]:
    if not state.scene.objects:
        return []
    lines = ["scene = mk.Scene()"]
    for item in state.scene.objects.values():
        options = "".join(
            f", {name}={_code(getattr(item, name))}"
            for name, nothing in (("padding", 0.0), ("solid", None), ("color", None))
            if getattr(item, name) != nothing
        )
        kind, pose = type(item.shape).__name__, _code(item.pose)
        sizes = ", ".join(_code(getattr(item.shape, name)) for name in _SIZES.get(type(item.shape), ()))
        if sizes and item.link is None:
            lines.append(f"scene.add_{kind.lower()}({item.name!r}, {sizes}, {pose}{options})")
        elif sizes and kind != "Cone":  # mk.Cone is a goal
            shape = f"mk.{kind}({sizes})"
            touch = f", touch={list(item.touch)!r}" if item.touch else ""
            lines.append(f"scene.attach({item.name!r}, {shape}, link={item.link!r}, pose={pose}{touch}{options})")
        elif isinstance(item.shape, Plane) and item.link is None:
            normal = item.pose[:3, 2]
            height = float(normal @ item.pose[:3, 3])
            lines.append(f"scene.add_plane({item.name!r}, {_code(normal)}, {_code(height)}{options})")
        else:
            return ['scene = mk.Scene.load("session.scene.toml")  # beside the file that the studio saves']
    lines += [f"scene.allow({first!r}, {second!r})" for first, second in sorted(state.scene.allowed)]
    return lines
