"""A reach study to look at: a heat map on the surface as a page, a picture and a coloured PLY file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.bench.reach.study import BLOCKED, REACHED, STATES, SURFACE, ReachResult, ReachSetup
from memetik.bench.report.page import bullets, colormap, heading, new_figure, page, paragraph, picture, table
from memetik.bench.report.statistics import compare_paired
from memetik.bench.report.viewer import (
    Part,
    arrows,
    link_poses,
    parts_html,
    placed,
    robot_parts,
    scene_parts,
    viewer_script,
)
from memetik.bench.report.viewer_image import draw_parts
from memetik.geometry.tessellate import subdivide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from memetik.bench.reach.base import Placement
    from memetik.geometry.shapes import TriangleMesh

STATE_COLORS = {"out of reach": (0.55, 0.55, 0.58, 1.0), "blocked": (0.78, 0.16, 0.16, 1.0)}

_MOST_FACES = 200_000
_SHOWN_CONFIGURATIONS = 40


def score_colors(result: ReachResult) -> np.ndarray:
    """Colours (N, 4): by score where a target is reached, by state where not."""
    return _colors(result.score, result.state, _full(result))


NOT_ASKED = (0.75, 0.75, 0.75, 1.0)
"""Colour of surface that no target is near to."""

ASKED_WITHIN = 3.0
"""Times the distance between targets within which they speak for the surface."""


def heat_part(mesh: TriangleMesh, result: ReachResult) -> Part:
    """The surface (in the world's frame), cut finely, with the colours of the targets around each vertex.

    Where no target is near, nobody asked: grey.
    """
    from scipy.spatial import KDTree

    spacing = math.sqrt(mesh.area / len(result.points))
    edge = max(0.6 * spacing, math.sqrt(4.0 * mesh.area / _MOST_FACES))
    vertices, faces = subdivide(mesh.vertices, mesh.faces, edge)
    normals = _vertex_normals(vertices, faces)
    # Normals count as places, too, so that the two sides of a wall do not mix.
    weight = 3.0 * spacing
    tree = KDTree(np.concatenate([result.points, weight * result.normals], axis=1))
    nearest: Any = range(1, min(4, len(result.points)) + 1)
    found: Any = tree.query(np.concatenate([vertices, weight * normals], axis=1), k=nearest)
    far, near = found
    share = 1.0 / (far + 0.3 * spacing) ** 2
    share /= share.sum(axis=1, keepdims=True)
    amounts = np.stack([((result.state[near] == state) * share).sum(axis=1) for state in range(len(STATES))], axis=1)
    state = np.argmax(amounts, axis=1)
    reached = (result.state[near] == REACHED) * share
    score = (result.score[near] * reached).sum(axis=1) / np.maximum(reached.sum(axis=1), 1e-12)
    colors = _colors(score, state, _full(result))
    colors[_unasked(result.points, vertices, spacing)] = NOT_ASKED
    return Part(SURFACE, vertices, faces, colors)


def _unasked(points: np.ndarray, vertices: np.ndarray, spacing: float) -> np.ndarray:
    """Which vertices are farther from all targets than these, or targets spread evenly, are from each other."""
    from scipy.spatial import KDTree

    tree = KDTree(points)
    own = float(np.median(tree.query(points, k=2)[0][:, 1])) if len(points) > 1 else 0.0
    return np.asarray(tree.query(vertices)[0]) > ASKED_WITHIN * max(own, 0.5 * spacing)


def reach_page(
    title: str, setup: ReachSetup, mesh: TriangleMesh, result: ReachResult, further: Sequence[str] = ()
) -> str:
    """The study as a page: figures, the heat map to turn about, where what was lost. `further` is HTML."""
    summary = result.summary()
    others = without_surface(setup)
    parts = [
        *robot_parts(setup.robot),
        *scene_parts(others, setup.robot),
        heat_part(mesh, result),
        arrows("targets", result.points, -result.normals, _arrow_length(result), score_colors(result)),
    ]
    neutral = ("middle of the limits", link_poses(setup.robot, setup.robot.neutral))
    configurations = [(label, link_poses(setup.robot, q)) for label, q in _shown_configurations(result)] or [neutral]
    body = [
        paragraph(sentence(setup, result)),
        parts_html(parts, configurations, legend=_legend(result), height=600),
        heading("Figures"),
        table(("what", "value"), [(name, value) for name, value in _figures(setup, summary)]),
        heading("Passes"),
        paragraph("After the first pass every target is tried again from the configurations of its better neighbours."),
        table(
            ("pass", "reached", "mean score of all targets"),
            [(k + 1, f"{coverage:.1%}", f"{score:.3f}") for k, (coverage, score) in enumerate(result.passes)],
        ),
        heading("Scores of reached targets"),
        picture(histograms(result, setup), "histograms of the scores"),
        *further,
    ]
    return page(title, body, head=viewer_script())


def sentence(setup: ReachSetup, result: ReachResult) -> str:
    """The outcome in words."""
    low, high = result.interval
    blocked, out = (int((result.state == state).sum()) for state in (BLOCKED, 0))
    words = (
        f"{setup.robot.name} reaches {int(result.reached.sum())} of {len(result.state)} targets, "
        f"{result.coverage:.1%}; of the surface that these targets sample, between {low:.1%} and {high:.1%} (95 %)."
    )
    if blocked:
        words += f" {blocked} are blocked: the arm could, but no configuration free of collision was found."
    if out:
        words += f" {out} are out of reach."
    return words


def reach_figure(
    title: str, setup: ReachSetup, mesh: TriangleMesh, result: ReachResult, found: Placement | None = None
) -> Any:
    """The heat map from two sides, the robot in the configuration of its best target, and a key to the colours; the
    places that were looked at, where there were any."""
    best = result.q[int(np.argmax(result.score))] if result.reached.any() else setup.robot.neutral
    poses = link_poses(setup.robot, best)
    surface = heat_part(mesh, result)
    others = placed([*robot_parts(setup.robot), *scene_parts(without_surface(setup), setup.robot)], poses)
    figure = new_figure(12.0 if found is None else 18.0, 5.4)
    left, right = (figure, None) if found is None else figure.subfigures(1, 2, width_ratios=(12.0, 6.0))
    axes = left.subplots(1, 2)
    for axis, azimuth in zip(axes, (-0.9, -0.9 + math.pi), strict=True):
        axis.imshow(draw_parts([surface, *others], size=(640, 520), azimuth=azimuth))
        axis.set_axis_off()
    _color_key(left, axes, result)
    left.suptitle(f"{title}: {result.coverage:.1%} of {len(result.state)} targets reached")
    if found is not None and right is not None:
        _draw_places(right, found, mesh)
        right.suptitle(f"{len(found.looked_at)} places from above")
    return figure


def histograms(result: ReachResult, setup: ReachSetup) -> Any:
    """How the measures of reached targets are spread."""
    names = ["manipulability", "margin", *(["clearance"] if setup.scene is not None else []), "score"]
    figure = new_figure(2.9 * len(names), 2.5)
    for axis, name in zip(figure.subplots(1, len(names)), names, strict=True):
        axis.hist(getattr(result.scores, name)[result.reached], bins=np.linspace(0.0, 1.0, 21), color="#3b7dbd")
        axis.set_xlabel(name)
        axis.set_xlim(0.0, 1.0)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def ply_bytes(part: Part) -> bytes:
    """A part as a binary PLY file with a colour for each vertex."""
    count, faces = len(part.vertices), len(part.faces)
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {count}\n"
        + "".join(f"property float {axis}\n" for axis in "xyz")
        + "".join(f"property uchar {channel}\n" for channel in ("red", "green", "blue"))
        + f"element face {faces}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    vertices = np.zeros(count, dtype=[("place", "<f4", 3), ("color", "u1", 3)])
    vertices["place"], vertices["color"] = part.vertices, np.round(255.0 * part.vertex_colors()[:, :3])
    rows = np.zeros(faces, dtype=[("count", "u1"), ("corners", "<i4", 3)])
    rows["count"], rows["corners"] = 3, part.faces
    return header.encode("ascii") + vertices.tobytes() + rows.tobytes()


def _figures(setup: ReachSetup, summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, str(summary[name])) for name in ("targets", "reached", "blocked", "out of reach")]
    rows.append(("coverage", f"{summary['coverage']:.1%}"))
    rows.append(("coverage, 95 % interval", f"{summary['coverage_low']:.1%} to {summary['coverage_high']:.1%}"))
    rows.append(("mean score of reached targets", f"{summary['score_of_reached']:.3f}"))
    rows.append(("score", ", ".join(f"{name} x {weight:g}" for name, weight in setup.weights.items())))
    rows.append(("link, axis, spin", f"{setup.link}, {setup.axis}, {'free' if setup.free_spin else 'fixed'}"))
    rows.append(("standoff", f"{float(setup.standoff or 0.0) * 1e3:.1f} mm"))
    rows.append(("base", " ".join(f"{value:.3f}" for value in setup.robot.base_pose[:3, 3])))
    rows.append(("bound on work", f"{setup.evaluations} evaluations an attempt"))
    return rows


def without_surface(setup: ReachSetup) -> Any:
    """The scene of a study but for the studied surface; None where nothing counts as touched."""
    if setup.scene is None:
        return None
    others = setup.scene.copy()
    if SURFACE in others:
        others.remove(SURFACE)
    return others


def _shown_configurations(result: ReachResult) -> list[tuple[str, np.ndarray]]:
    """Configurations of reached targets from the worst to the best."""
    reached = np.flatnonzero(result.reached)
    if not len(reached):
        return []
    order = reached[np.argsort(-result.score[reached], kind="stable")]
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(_SHOWN_CONFIGURATIONS, len(order))).astype(int))]
    return [(f"target {k}, score {result.score[k]:.2f}", result.q[k]) for k in shown.tolist()]


def _arrow_length(result: ReachResult) -> float:
    extent = float(np.linalg.norm(np.ptp(result.points, axis=0)))
    return float(np.clip(extent / math.sqrt(len(result.points)) * 0.5, 0.005, 0.05))


def _full(result: ReachResult) -> float:
    return max(float(result.score.max()), 1e-6)


def _colors(score: np.ndarray, state: np.ndarray, full: float) -> np.ndarray:
    colors = colormap("viridis")(np.clip(score / full, 0.0, 1.0))
    for name, color in STATE_COLORS.items():
        colors[state == STATES.index(name)] = color
    return colors


def _legend(result: ReachResult) -> list[tuple[str, str]]:
    from matplotlib.colors import to_hex

    full = _full(result)
    scale = [(f"score {share * full:.2f}", to_hex(colormap("viridis")(share))) for share in (0.0, 0.5, 1.0)]
    return [*scale, *((name, to_hex(color)) for name, color in STATE_COLORS.items())]


def _color_key(figure: Figure, axes: Axes, result: ReachResult) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Patch

    bar = figure.colorbar(ScalarMappable(Normalize(0.0, _full(result)), "viridis"), ax=axes, shrink=0.7, pad=0.01)
    bar.set_label("score")
    patches = [Patch(color=color, label=name) for name, color in STATE_COLORS.items()]
    figure.legend(handles=patches, loc="lower center", ncols=2, frameon=False)


def _vertex_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    corners = vertices[faces]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, faces[:, k], cross)
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)


def comparison_sentences(labels: Sequence[str], results: Sequence[ReachResult]) -> list[str]:
    """The first against each of the others, in words."""
    return [
        compare_paired(results[0].reached, other.reached).sentence(labels[0], label, "reaches")
        for label, other in zip(labels[1:], results[1:], strict=True)
    ]


def comparison_html(labels: Sequence[str], results: Sequence[ReachResult]) -> list[str]:
    """A table of several studies on the same targets, and what their differences are worth."""
    rows = []
    for label, result in zip(labels, results, strict=True):
        low, high = result.interval
        blocked, out = (int((result.state == state).sum()) for state in (BLOCKED, 0))
        rows.append(
            (label, f"{result.coverage:.1%}", f"{low:.1%} to {high:.1%}", blocked, out, f"{result.score.mean():.3f}")
        )
    return [
        heading("Comparison"),
        table(("robot and base", "reached", "95 % interval", "blocked", "out of reach", "mean score"), rows),
        bullets(comparison_sentences(labels, results)),
    ]


def placement_html(found: Placement, mesh: TriangleMesh) -> list[str]:
    """Where bases were looked at and what they were worth."""
    rows = [
        (*(f"{value:.3f}" for value in place.at), f"{result.coverage:.1%}", f"{result.score.mean():.3f}")
        for place, result in found.best
    ]
    return [
        heading("Where it may stand"),
        paragraph(f"{len(found.looked_at)} places were looked at; the best were studied with all targets."),
        table(("x", "y", "z", "yaw", "reached", "mean score"), rows),
        picture(placement_figure(found, mesh), "places that were looked at, from above"),
    ]


def placement_figure(found: Placement, mesh: TriangleMesh) -> Any:
    """Bases from above, coloured by the share of targets they reach, with the outline of the surface."""
    figure = new_figure(7.0, 5.4)
    _draw_places(figure, found, mesh)
    return figure


def _draw_places(figure: Figure, found: Placement, mesh: TriangleMesh) -> None:
    at = np.array([place.at for place in found.looked_at])
    coverage = np.array([place.coverage for place in found.looked_at])
    axis = figure.subplots()
    triangles = mesh.triangles[:: max(1, len(mesh.faces) // 4000), :, :2]
    from matplotlib.collections import PolyCollection

    axis.add_collection(PolyCollection(list(triangles), facecolors="#c9ced6", edgecolors="#c9ced6", zorder=0))
    order = np.argsort(coverage)
    shown = axis.scatter(at[order, 0], at[order, 1], c=coverage[order], cmap="viridis", s=36, zorder=2)
    if np.ptp(at[:, 3]) > 0.0:
        axis.quiver(
            at[:, 0], at[:, 1], np.cos(at[:, 3]), np.sin(at[:, 3]), color="#444", width=0.002, scale=45, zorder=1
        )
    best = found.best[0][0]
    axis.plot(*best.at[:2], marker="*", color="#d62728", markersize=17, zorder=3, linestyle="none", label="best")
    axis.set_aspect("equal")
    axis.autoscale_view()
    axis.set_xlabel("x (m)")
    axis.set_ylabel("y (m)")
    axis.legend(loc="best", frameon=False)
    figure.colorbar(shown, label="share of sampled targets reached")
