"""`memetik reach ROBOT MESH`: how much of a surface a robot reaches, from where, and how well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import memetik as mk
from memetik.bench.reach.base import COORDINATES, Region, base_coordinates, place_base
from memetik.bench.reach.file import ReachStudy, save_study
from memetik.bench.reach.map import reach_map
from memetik.bench.reach.map_output import map_figure, map_page, map_ply
from memetik.bench.reach.output import (
    comparison_html,
    comparison_sentences,
    heat_part,
    placement_html,
    ply_bytes,
    reach_figure,
    reach_page,
    sentence,
)
from memetik.bench.reach.scores import parse_weights
from memetik.bench.reach.study import SURFACE, ReachResult, ReachSetup, reach_study
from memetik.bench.report.page import write_figure
from memetik.bench.run.worker_pool import WorkerPool, worker_pool
from memetik.cli.goal_words import pose_of, split
from memetik.cli.options import (
    ClusterOptions,
    argument,
    arguments_option,
    json_option,
    option,
    rng_option,
    robot_argument,
    scene_option,
    search_path_option,
)
from memetik.cli.output import check_outputs, print_files, print_json, print_table
from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.files.atomic import write_whole
from memetik.files.named_values import named_values
from memetik.geometry.formats import MESH_NAMES
from memetik.geometry.mesh_files import load_mesh, load_oriented_points
from memetik.geometry.shapes import TriangleMesh
from memetik.geometry.surface_points import sample_triangles
from memetik.progress import progress_bar
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene


@dataclass(frozen=True, kw_only=True)
class ReachOptions(ClusterOptions):
    robot: str = robot_argument()
    mesh: str | None = argument(None, f"Surface to reach: {MESH_NAMES}. Not needed for --map.")
    output: list[str] = option(
        [],
        "File to write: .html, .png, .pdf, .ply (coloured surface or map), .npz (study for the studio); repeatable.",
        "--output",
        "-o",
    )
    targets: int = option(500, "Targets drawn evenly from the surface.")
    points: str | None = option(None, "PCD or PLY file with points and normals on the mesh, instead of drawn targets.")
    mesh_pose: str | None = option(None, "'x y z' or 'x y z roll pitch yaw' of the surface.")
    scale: float = option(1.0, "Factor to metres: 0.001 for a mesh in millimetres.")
    scene: str | None = scene_option()
    link: str | None = option(None, "Link that reaches the targets; by default the robot's tip.")
    axis: str = option("z", "Axis of the link that points into the surface: x, y, z, -x, -y or -z.")
    spin: str = option("free", "Rotation about that axis: free or fixed.")
    standoff: float | None = option(
        None, "Distance from the surface in metres; by default the smallest that the tool's shape allows."
    )
    touch: list[str] = option([], "Link that may touch the surface; repeatable.")
    collision: bool = option(True, "Whether collisions with surface, scene and the robot itself count.")
    score: str = option(
        "manipulability,margin",
        "What makes a configuration good: manipulability, margin, clearance; with weights as NAME=WEIGHT.",
    )
    passes: int = option(3, "Passes over the targets; later passes start from solved neighbours.", min=1)
    evaluations: int | None = option(
        None, "Bound on the work for one attempt.", min=1, show_default="4000, for maps 300"
    )
    rng: int = rng_option()
    base: list[str] = option([], "'x y z' or 'x y z roll pitch yaw' of the robot; repeatable to compare.")
    also: list[str] = option([], "Another robot to compare with; repeatable.")
    place: str | None = option(
        None, "Find the best base: 'x=-1:1 y=-1:1 z=0:0.5 yaw=-3.14:3.14'; what is not named stays fixed."
    )
    places: int = option(192, "Bases that --place tries.", min=4)
    map_size: float | None = option(None, "Map the whole workspace in cells of this edge, metres.", "--map")
    directions: int = option(24, "Directions tried in each cell of a map.", min=1)
    threads: int = option(1, "Threads of this process, for maps.", min=1)
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    as_json: bool = json_option()


def reach(options: ReachOptions) -> None:
    is_map = options.map_size is not None
    check_outputs(options.output, (".html", ".png", ".pdf", ".ply", *([] if is_map else [".npz"])))
    robots = [mk.load_robot(name, search_path=options.search_path) for name in (options.robot, *options.also)]
    if is_map:
        robot, scene = _map_subject(robots[0], options)
        with worker_pool(options.cluster, options.workers, tls=options.tls) as workers:
            _map(robot, scene, options, workers)
        return
    survey = _survey(robots, options)
    with worker_pool(options.cluster, options.workers, tls=options.tls) as workers:
        (_study if options.place is None else _place)(survey, options, workers)


@dataclass(frozen=True)
class _Survey:
    """Robots at their bases, and the surface that each of them is to reach."""

    sources: list[str]
    setups: list[ReachSetup]
    surface: TriangleMesh
    points: np.ndarray
    normals: np.ndarray


def _survey(robots: list[Robot], options: ReachOptions) -> _Survey:
    if options.mesh is None:
        raise InvalidInputError("name the MESH whose surface is to be reached, or say --map SIZE for a map.")
    if options.spin not in ("free", "fixed"):
        raise InvalidInputError(f"--spin is free or fixed, not {options.spin!r}.")
    if options.place is not None and len(options.base) > 1:
        raise InvalidInputError("--place finds the base itself: name one --base at most, where it begins.")
    for name in options.touch:
        if not any(name in _link_names(robot) for robot in robots):
            raise UnknownNameError("link", name, robots[0].name, _link_names(robots[0]))
    surface, scene = _surface(options.mesh, options)
    points, normals = _targets(surface, options)
    asked: dict[str, Any] = {
        "axis": options.axis, "free_spin": options.spin == "free", "standoff": options.standoff,
        "evaluations": options.evaluations or 4000, "weights": parse_weights(options.score), "rng": options.rng,
    }  # fmt: skip
    bases = [pose_of(text, "--base") for text in options.base] or [None]
    setups = [
        ReachSetup(
            robot if base is None else robot.at(base), None if scene is None else scene.copy(), options.link or "",
            **asked,
        )
        for robot in robots for base in bases
    ]  # fmt: skip
    sources = [name for name in (options.robot, *options.also) for _ in bases]
    return _Survey(sources, setups, surface, points, normals)


def _study(survey: _Survey, options: ReachOptions, workers: WorkerPool) -> None:
    setups, points = survey.setups, survey.points
    with progress_bar("solving", len(points) * len(setups)) as advance:
        results = [
            reach_study(setup, points, survey.normals, passes=options.passes, workers=workers, progress=advance)
            for setup in setups
        ]
    labels = _labels(setups)
    order = sorted(range(len(setups)), key=lambda k: -results[k].coverage)
    ranked = [labels[k] for k in order], [results[k] for k in order]
    words = comparison_sentences(*ranked)
    best = order[0]
    _write_study(options, labels[best], survey, best, results[best], comparison_html(*ranked) if order[1:] else [])
    if options.as_json:
        rows = [
            {"robot": s.robot.name, "base": s.robot.base_pose, **r.summary()}
            for s, r in zip(setups, results, strict=True)
        ]
        print_json("memetik.reach/1", {"studies": rows, "comparison": words, "files": options.output})
        return
    for k in order:
        print(f"{labels[k]}: {sentence(setups[k], results[k])}" if order[1:] else sentence(setups[k], results[k]))
    print_table(
        (">pass", ">reached", ">mean score"),
        [(k + 1, f"{coverage:.1%}", f"{score:.3f}") for k, (coverage, score) in enumerate(results[best].passes)],
    )
    for line in words:
        print(line)
    print_files(options.output)


def _place(survey: _Survey, options: ReachOptions, workers: WorkerPool) -> None:
    setups, asked = survey.setups, {"places": options.places, "passes": options.passes, "workers": workers}
    with progress_bar("places", options.places * len(setups)) as advance:
        founds = [
            place_base(setup, survey.points, survey.normals, _region(options.place or "", setup.robot.base_pose),
                       **asked, progress=advance)
            for setup in setups
        ]  # fmt: skip
    moved = [replace(s, robot=s.robot.at(f.best[0][0].pose)) for s, f in zip(setups, founds, strict=True)]
    order = sorted(range(len(setups)), key=lambda k: -founds[k].best[0][0].value)
    labels = [f"{setups[k].robot.name} at its best place" for k in order]
    results = [founds[k].best[0][1] for k in order]
    words = comparison_sentences(labels, results)
    best = order[0]
    further = placement_html(founds[best], survey.surface) + (comparison_html(labels, results) if order[1:] else [])
    _write_study(options, labels[0], replace(survey, setups=moved), best, results[0], further, founds[best])
    rows = [[dict(zip(COORDINATES, p.at, strict=True)) | r.summary() for p, r in found.best] for found in founds]
    if options.as_json:
        robots = [
            {"robot": setups[k].robot.name, "looked_at": len(founds[k].looked_at), "best": rows[k]} for k in order
        ]
        print_json("memetik.reach_place/2", {"robots": robots, "comparison": words, "files": options.output})
        return
    for k in order:
        print_table(
            (*(f">{name}" for name in COORDINATES), ">reached", ">95 % from", ">to", ">mean score"),
            [(*(f"{r[name]:.3f}" for name in COORDINATES), f"{r['coverage']:.1%}", f"{r['coverage_low']:.1%}",
              f"{r['coverage_high']:.1%}", f"{r['score']:.3f}") for r in rows[k]],
            title=f"{setups[k].robot.name}: of {len(founds[k].looked_at)} places the best, studied with all targets",
        )  # fmt: skip
        print(sentence(moved[k], founds[k].best[0][1]))
    for line in words:
        print(line)
    print_files(options.output)


def _map_subject(robot: Robot, options: ReachOptions) -> tuple[Robot, Scene | None]:
    """The robot at its base, and the scene around it."""
    unused = {"MESH": options.mesh, "--points": options.points, "--mesh-pose": options.mesh_pose,
              "--touch": options.touch, "--also": options.also, "--place": options.place,
              "a second --base": options.base[1:]}  # fmt: skip
    if given := [name for name, value in unused.items() if value]:
        raise InvalidInputError(f"--map is about one robot and its scene: leave out {', '.join(given)}.")
    if options.scene is not None and not options.collision:
        raise InvalidInputError("--scene is there to be kept clear of: leave out --no-collision.")
    placed = robot.at(pose_of(options.base[0], "--base")) if options.base else robot
    return placed, None if options.scene is None else mk.Scene.load(options.scene)


def _map(robot: Robot, scene: Scene | None, options: ReachOptions, workers: WorkerPool) -> None:
    size, done = options.map_size or 0.0, 0.0
    with progress_bar("mapping", 1.0) as advance:

        def progress(share: float) -> None:
            nonlocal done
            advance(share - done)
            done = share

        found = reach_map(
            robot, options.link, size=size, directions=options.directions, axis=options.axis,
            evaluations=options.evaluations or 300, self_collision=options.collision, scene=scene, rng=options.rng,
            threads=options.threads, workers=workers, progress=progress,
        )  # fmt: skip
    for path in options.output:
        ending = Path(path).suffix.lower()
        if ending == ".html":
            write_whole(path, map_page(robot, found, scene))
        elif ending == ".ply":
            write_whole(path, map_ply(found))
        else:
            write_figure(path, map_figure(robot, found))
    summary = found.summary()
    if options.as_json:
        facts = {"robot": robot.name, "link": found.link, **summary, "files": options.output}
        print_json("memetik.reach_map/1", facts)
        return
    print(
        f"{found.link} of {robot.name} reaches {found.volume:.3g} m3 ({summary['cells']} cells of {size:g} m), on "
        f"average from {summary['mean_index']:.0%} of {options.directions} directions, from all of them in "
        f"{summary['dexterous_volume']:.3g} m3; {found.solves:,} problems solved."
    )
    print_files(options.output)


def _write_study(
    options: ReachOptions, title: str, survey: _Survey, number: int, result: ReachResult, further: list[str],
    found: Any = None,
) -> None:  # fmt: skip
    source, setup, surface = survey.sources[number], survey.setups[number], survey.surface
    for path in options.output:
        ending = Path(path).suffix.lower()
        if ending == ".html":
            write_whole(path, reach_page(f"Reach of {title}", setup, surface, result, further))
        elif ending == ".ply":
            write_whole(path, ply_bytes(heat_part(surface, result)))
        elif ending == ".npz":
            save_study(ReachStudy(source, setup, surface, result), path)
        else:
            write_figure(path, reach_figure(title, setup, surface, result, found))


def _surface(mesh: str, options: ReachOptions) -> tuple[TriangleMesh, Scene | None]:
    """The surface in the world, and the scene with it; None where collisions do not count."""
    own = load_mesh(mesh, scale=options.scale)
    pose = pose_of(options.mesh_pose or "0 0 0", "--mesh-pose")
    surface = TriangleMesh(own.vertices @ pose[:3, :3].T + pose[:3, 3], own.faces, own.source)
    scene = mk.Scene.load(options.scene) if options.scene is not None else mk.Scene()
    scene.add_mesh(SURFACE, surface)
    for link in options.touch:
        scene.allow(link, SURFACE)
    return surface, scene if options.collision else None


def _targets(surface: TriangleMesh, options: ReachOptions) -> tuple[np.ndarray, np.ndarray]:
    """Points and normals in the world: those of a file, in the mesh's frame and unit, or drawn from the surface."""
    if options.points is not None:
        points, normals = load_oriented_points(options.points)
        pose = pose_of(options.mesh_pose or "0 0 0", "--mesh-pose")
        return (options.scale * points) @ pose[:3, :3].T + pose[:3, 3], normals @ pose[:3, :3].T
    if options.targets < 1:
        raise InvalidInputError(f"--targets is at least 1, not {options.targets}.")
    return sample_triangles(surface.triangles, options.targets, options.rng)


def _region(text: str, base: np.ndarray) -> Region:
    """The region of --place; coordinates that are not named stay where the base is, and its tilt does."""
    at, tilt = base_coordinates(base)
    ranges = {name: (value, value) for name, value in zip(COORDINATES, at, strict=True)}
    for name, limits in named_values(split(text), "--place", "NAME=LOWER:UPPER").items():
        if name not in COORDINATES:
            raise InvalidInputError(f"--place knows no {name!r}; {suggest(name, COORDINATES)}")
        try:
            low, high = (float(value) for value in limits.split(":"))
        except ValueError:
            raise InvalidInputError(f"--place takes NAME=LOWER:UPPER, not {name}={limits!r}.") from None
        ranges[name] = (low, high)
    return Region(**ranges, tilt=tilt)


def _link_names(robot: Robot) -> list[str]:
    return [link.name for link in robot.description.links]


def _labels(setups: list[ReachSetup]) -> list[str]:
    names = [setup.robot.name for setup in setups]
    if len(set(names)) == len(names):
        return names
    return [f"{s.robot.name} at ({', '.join(f'{v:g}' for v in s.robot.base_pose[:3, 3])})" for s in setups]
