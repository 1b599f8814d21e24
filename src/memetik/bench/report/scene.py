"""Reached and missed targets on the scene, with the robot: for the page to turn about, and as a cross-section."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from memetik.bench.report.data import Case
from memetik.bench.report.page import new_figure
from memetik.bench.report.viewer import (
    AZIMUTH,
    Part,
    arrows,
    link_poses,
    parts_html,
    per_arrow,
    placed,
    robot_parts,
    scene_parts,
)
from memetik.bench.report.viewer_image import Canvas
from memetik.bench.run.store import Store
from memetik.bench.scenarios import Scenario, scenario_from
from memetik.bench.scenarios.build import ENOUGH
from memetik.errors import MemetikError
from memetik.robot.robot import Robot

REACHED, SOMETIMES, MISSED, OUT = "#2ca02c", "#f2b01e", "#d62728", "#8a8f98"
LEGEND = (("solved in all trials", REACHED), ("in some", SOMETIMES), ("missed", MISSED), ("unreachable", OUT))

_SHOWN_POSTURES = 6  # of each solver
_MOST_ARROWS = 4000
_MULTIPLES = 6  # solvers in a cross-section


def scene_html(store: Store, case: Case, scenario: Scenario, there: set[str]) -> str:
    """A viewer of the case, on its scenario made again. there: as `parts_html` has it."""
    robot = scenario.robot
    targets = store.targets(case.scenario_key)
    shown = np.arange(len(targets["poses"]))[:_MOST_ARROWS]
    poses = targets["poses"][shown]
    colors = {c.label: target_colors(case, c.label, targets["reachable"])[shown] for c in case.solvers}
    part = arrows("targets", poses[:, :3, 3], poses[:, :3, 2], _length(poses), next(iter(colors.values())))
    variants = {label: per_arrow(own) for label, own in colors.items()}
    part = Part(part.name, part.vertices, part.faces, part.colors, variants)
    configurations = []
    for solver in case.solvers:
        numbers, _, q = store.configurations(solver.run, 0)
        for k in np.unique(np.linspace(0, len(numbers) - 1, min(_SHOWN_POSTURES, len(numbers))).astype(int)):
            configurations.append((f"at target {numbers[k]}", link_poses(robot, q[k]), solver.label))
    configurations = configurations or [("seed of target 0", link_poses(robot, targets["seeds"][0]))]
    parts = [*robot_parts(robot), *scene_parts(scenario.scene, robot), part]
    return parts_html(parts, configurations, azimuth=_open_side(robot, poses), legend=LEGEND, height=560, there=there)


def cross_section(store: Store, case: Case, scenario: Scenario) -> Any:
    """The scene cut open along its longest level axis, once for each of the solvers that miss most; None where there is
    no scene."""
    if scenario.scene is None or not len(scenario.scene):
        return None
    targets = store.targets(case.scenario_key)
    poses, robot = targets["poses"], scenario.robot
    points = poses[:, :3, 3]
    middle, extent = 0.5 * (points.min(axis=0) + points.max(axis=0)), np.ptp(points, axis=0)
    axis = 0 if extent[0] <= extent[1] else 1  # look along the shorter one
    half = points[:, axis] <= middle[axis] + 1e-9
    ranked = sorted(case.solvers, key=lambda c: float(c.solved.mean()))[:_MULTIPLES]
    q = next((q[0] for c in case.solvers for _, _, q in [store.configurations(c.run)] if len(q)), targets["seeds"][0])
    diagonal = max(float(np.linalg.norm(extent)), 0.1)
    frame = np.stack([points.min(axis=0) - 0.15 * diagonal, points.max(axis=0) + 0.15 * diagonal])
    columns = 2 if len(ranked) == 4 else min(3, len(ranked))
    rows = math.ceil(len(ranked) / columns)
    size = (700, 450) if columns == 1 else (400, 280)
    common = Canvas(frame, size, (0.0 if axis == 0 else 0.5 * math.pi) + 0.25, 0.2)
    for part in placed(scene_parts(scenario.scene, robot), link_poses(robot, q)):
        common.add(part, (axis, float(middle[axis])))
    for part in placed(robot_parts(robot), link_poses(robot, q)):
        common.add(part)
    figure = new_figure(size[0] / 85.0 * columns, 0.75 + (size[1] / 85.0 + 0.3) * rows)
    length = max(_length(poses), 0.035 * diagonal)
    for plot in (plots := np.atleast_1d(figure.subplots(rows, columns)).ravel()):
        plot.set_axis_off()
    for plot, solver in zip(plots, ranked, strict=False):
        canvas, colors = common.copy(), target_colors(case, solver.label, targets["reachable"])
        canvas.add(arrows("targets", points[half], poses[half, :3, 2], length, colors[half]))
        plot.imshow(canvas.picture())
        plot.set_title(f"{solver.label}: {solver.solved.mean():.1%} solved", fontsize=9)
    all_shown = len(ranked) == len(case.solvers)
    which = "" if all_shown else f", the {len(ranked)} of {len(case.solvers)} that solve least"
    figure.suptitle(f"{case.title}, cut at {'xyz'[axis]} = {middle[axis]:.2f} m{which}", fontsize=10)
    from matplotlib.patches import Patch

    handles = [Patch(color=color, label=name) for name, color in LEGEND]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def target_colors(case: Case, label: str, reachable: np.ndarray) -> np.ndarray:
    """Colours (N, 4) of all targets of the scenario for one solver."""
    from matplotlib.colors import to_rgba

    solver = next(c for c in case.solvers if c.label == label)
    colors = np.tile(to_rgba(OUT), (len(reachable), 1))
    tried = np.unique(solver.rows.target)
    share = solver.share_by_target(tried)
    colors[tried[share == 0.0]] = to_rgba(MISSED)
    colors[tried[(share > 0.0) & (share < 1.0)]] = to_rgba(SOMETIMES)
    colors[tried[share == 1.0]] = to_rgba(REACHED)
    return colors


def scenario_of(store: Store, case: Case) -> Scenario | str:
    """The case's robot and scene, made again from the scenario's origin; or why that cannot be done here.

    Its targets are the store's: none are searched for again.
    """
    origin = dict(store.scenario_facts(case.scenario_key)["origin"])
    if origin.get("reachability") == "only":  # the first part of it, drawn as it was then
        origin["targets"] = min(origin["targets"], ENOUGH)
    origin["reachability"] = "skip"
    try:
        return scenario_from(origin)
    except (MemetikError, OSError, KeyError) as error:  # also an origin that is no recipe of ours
        return str(error)


def _open_side(robot: Robot, poses: np.ndarray) -> float:
    """Where to look from, radians: the robot's side, which is where a scene is open, and a little beside it."""
    points = poses[:, :2, 3]
    away = robot.base_pose[:2, 3] - points.mean(axis=0)
    beside = float(np.linalg.norm(away)) > 0.5 * float(points.std(axis=0).max())
    return math.atan2(away[1], away[0]) + 0.7 if beside else AZIMUTH


def _length(poses: np.ndarray) -> float:
    extent = float(np.linalg.norm(np.ptp(poses[:, :3, 3], axis=0)))
    return float(np.clip(0.5 * extent / math.sqrt(max(len(poses), 1)), 0.008, 0.06))
