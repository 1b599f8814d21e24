"""Reached and missed targets on the scene, with the robot: for the page to turn about, and as a cross-section."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.bench.report_data import Case
from memetik.bench.report_page import new_figure
from memetik.bench.viewer import Part, arrows, link_poses, parts_html, per_arrow, placed, robot_parts, scene_parts

if TYPE_CHECKING:
    from memetik.bench.scenarios import Scenario
    from memetik.bench.store import Store

logger = logging.getLogger(__name__)

REACHED, SOMETIMES, MISSED, OUT = "#2ca02c", "#f2b01e", "#d62728", "#8a8f98"
LEGEND = (("solved in all trials", REACHED), ("in some", SOMETIMES), ("missed", MISSED), ("unreachable", OUT))

_SHOWN_POSTURES = 24
_MOST_ARROWS = 4000


def scene_html(store: Store, case: Case, there: set[str]) -> str | None:
    """A viewer of the case; None where its scenario cannot be made again here. there: as `parts_html` has it."""
    scenario = scenario_of(store, case)
    if scenario is None:
        return None
    robot = scenario.robot
    targets = store.targets(case.scenario_key)
    shown = np.arange(len(targets["poses"]))[:_MOST_ARROWS]
    poses = targets["poses"][shown]
    colors = {
        c.label: target_colors(case, c.label, targets["reachable"])[shown] for c in case.contestants if len(c.rows)
    }
    first = next(iter(colors.values()))
    part = arrows("targets", poses[:, :3, 3], poses[:, :3, 2], _length(poses), first)
    variants = {label: per_arrow(own) for label, own in colors.items()}
    part = Part(part.name, part.vertices, part.faces, part.colors, variants)
    postures = [("seed of target 0", link_poses(robot, targets["seeds"][0]))]
    for contestant in case.contestants[:1]:
        numbers, _, q = store.postures(contestant.run, 0)
        for k in np.unique(np.linspace(0, len(numbers) - 1, min(_SHOWN_POSTURES, len(numbers))).astype(int)):
            postures.append((f"{contestant.label}, target {numbers[k]}", link_poses(robot, q[k])))
    parts = [*robot_parts(robot), *scene_parts(scenario.scene, robot), part]
    return parts_html(parts, postures, legend=LEGEND, height=560, there=there)


def cross_section(store: Store, case: Case, label: str) -> Any:
    """The scene cut open along its longest level axis, with one solver's targets; None where it cannot be made."""
    from memetik.bench.viewer_image import draw_parts

    scenario = scenario_of(store, case)
    if scenario is None or scenario.scene is None or not len(scenario.scene):
        return None
    targets = store.targets(case.scenario_key)
    poses, colors = targets["poses"], target_colors(case, label, targets["reachable"])
    points = poses[:, :3, 3]
    middle, extent = 0.5 * (points.min(axis=0) + points.max(axis=0)), np.ptp(points, axis=0)
    axis = 0 if extent[0] <= extent[1] else 1  # look along the shorter one
    half = points[:, axis] <= middle[axis] + 1e-9
    if not half.any():
        return None
    q = next(
        (q[0] for c in case.contestants if c.label == label for _, _, q in [store.postures(c.run)] if len(q)), None
    )
    robot = scenario.robot
    body = placed(robot_parts(robot), link_poses(robot, targets["seeds"][0] if q is None else q))
    scene = placed(scene_parts(scenario.scene, robot), link_poses(robot, targets["seeds"][0]))
    shown = arrows("targets", points[half], poses[half, :3, 2], _length(poses), colors[half])
    azimuth = (0.0 if axis == 0 else 0.5 * math.pi) + 0.25
    image = draw_parts(
        [*scene, shown], size=(700, 450), azimuth=azimuth, elevation=0.2, cut=(axis, float(middle[axis])), uncut=body
    )
    figure = new_figure(8.2, 5.2)
    plot = figure.subplots()
    plot.imshow(image)
    plot.set_axis_off()
    plot.set_title(f"{case.title}: {label}, cut at {'xyz'[axis]} = {middle[axis]:.2f} m", fontsize=10)
    from matplotlib.patches import Patch

    plot.legend(handles=[Patch(color=color, label=name) for name, color in LEGEND], loc="lower center", ncols=4,
                bbox_to_anchor=(0.5, -0.08), frameon=False, fontsize=8)  # fmt: skip
    return figure


def target_colors(case: Case, label: str, reachable: np.ndarray) -> np.ndarray:
    """Colours (N, 4) of all targets of the scenario for one solver."""
    from matplotlib.colors import to_rgba

    contestant = next(c for c in case.contestants if c.label == label)
    colors = np.tile(to_rgba(OUT), (len(reachable), 1))
    tried = np.unique(contestant.rows.target)
    share = contestant.share_by_target(tried)
    colors[tried[share == 0.0]] = to_rgba(MISSED)
    colors[tried[(share > 0.0) & (share < 1.0)]] = to_rgba(SOMETIMES)
    colors[tried[share == 1.0]] = to_rgba(REACHED)
    return colors


def scenario_of(store: Store, case: Case) -> Scenario | None:
    """The case's robot and scene, made again from the scenario's origin; None where that needs what is not here.

    Its targets are the store's: none are searched for again.
    """
    from memetik.bench.scenarios import scenario_from
    from memetik.bench.scenarios.build import ENOUGH
    from memetik.errors import MemetikError

    origin = dict(store.scenario_facts(case.scenario_key)["origin"])
    if origin.get("reachability") == "only":  # the first part of it, drawn as it was then
        origin["targets"] = min(origin["targets"], ENOUGH)
    origin["reachability"] = "skip"
    try:
        return scenario_from(origin)
    except (MemetikError, OSError, KeyError) as error:  # also an origin that is no recipe of ours
        logger.warning("no view of %s: %s", case.title, error)
        return None


def _length(poses: np.ndarray) -> float:
    extent = float(np.linalg.norm(np.ptp(poses[:, :3, 3], axis=0)))
    return float(np.clip(0.5 * extent / math.sqrt(max(len(poses), 1)), 0.008, 0.06))
