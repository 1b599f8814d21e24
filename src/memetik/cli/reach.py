"""`memetik reach ROBOT MESH`: how much of a surface a robot can get at, from where, and how well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from memetik.cli.output import JSON_OPTION, print_json, print_table


def reach(
    robot: str = typer.Argument(help="Bundled name, or path of a URDF, xacro or MJCF file."),
    mesh: str | None = typer.Argument(None, help="Surface to reach: STL, OBJ, DAE, GLB or PLY. Not needed for --map."),
    output: list[str] = typer.Option(
        [],
        "--output",
        "-o",
        help="File to write: .html, .png, .pdf, .ply (coloured surface or map), .npz (a study to open in the studio); "
        "repeatable.",
    ),
    targets: int = typer.Option(500, help="Targets drawn evenly from the surface."),
    points: str | None = typer.Option(
        None, help="PCD or PLY file with points and normals on the mesh, instead of drawn targets."
    ),
    mesh_pose: str | None = typer.Option(None, help="'x y z' or 'x y z roll pitch yaw' of the surface."),
    scale: float = typer.Option(1.0, help="Factor to metres: 0.001 for a mesh in millimetres."),
    scene: str | None = typer.Option(None, help="Scene file (TOML) with further obstacles."),
    link: str | None = typer.Option(None, help="Link that has to get there; by default the robot's tip."),
    axis: str = typer.Option("z", help="Axis of the link that points into the surface: x, y, z, -x, -y or -z."),
    spin: str = typer.Option("free", help="Turn about that axis: free or fixed."),
    standoff: float | None = typer.Option(
        None, help="Metres before the surface; by default as little as the tool's shape allows."
    ),
    touch: list[str] = typer.Option([], help="Link that may touch the surface; repeatable."),
    collision: bool = typer.Option(True, help="Whether surface, scene and the robot itself must not be touched."),
    score: str = typer.Option(
        "manipulability,margin", help="What makes a posture good: manipulability, margin, clearance; NAME=WEIGHT."
    ),
    passes: int = typer.Option(3, min=1, help="Passes over the targets; those after the first start from neighbours."),
    evaluations: int = typer.Option(
        None, min=1, help="Bound on the work for one attempt.", show_default="4000, for maps 300"
    ),
    rng: int = typer.Option(0, min=0, help="Seed of the random numbers."),
    base: list[str] = typer.Option([], help="'x y z' or 'x y z roll pitch yaw' of the robot; repeatable to compare."),
    also: list[str] = typer.Option([], help="Another robot to compare with; repeatable."),
    place: str | None = typer.Option(
        None,
        help="Look for the best base: 'x=-1:1 y=-1:1 z=0:0.5 yaw=-3.14:3.14'; what is not named stays.",
    ),
    places: int = typer.Option(192, min=4, help="Bases that --place looks at."),
    map_size: float | None = typer.Option(None, "--map", help="Map the whole workspace in cells of this edge, metres."),
    directions: int = typer.Option(24, min=1, help="Directions tried in each cell of a map."),
    threads: int = typer.Option(1, min=1, help="Threads of this process, for maps."),
    cluster: str | None = typer.Option(None, help="Address of a dask scheduler, or 'local'."),
    workers: int | None = typer.Option(None, min=1, help="Processes of a local cluster."),
    search_path: list[str] = typer.Option([], help="Folder that holds packages or meshes; repeatable."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Study the reach of a robot: over a surface, over base placements, or over its whole workspace."""
    import memetik as mk
    from memetik.bench import cluster as clusters
    from memetik.errors import InvalidInputError, UnknownNameError

    check_outputs(output, (".html", ".png", ".pdf", ".ply", *([".npz"] if map_size is None else [])))
    robots = [mk.load_robot(name, search_path=search_path) for name in (robot, *also)]
    if map_size is not None:
        unused = {"MESH": mesh, "--points": points, "--mesh-pose": mesh_pose, "--touch": touch, "--also": also,
                  "--place": place, "a second --base": base[1:]}  # fmt: skip
        if given := [name for name, value in unused.items() if value]:
            raise InvalidInputError(f"--map is about one robot and its surroundings: leave out {', '.join(given)}.")
        placed = robots[0].at(_pose(base[0], "--base")) if base else robots[0]
        around = None if scene is None else mk.Scene.load(scene)
        if around is not None and not collision:
            raise InvalidInputError("--scene is there to be kept clear of: leave out --no-collision.")
        with clusters.workers(cluster, workers) as crew:
            _map(placed, around, link, axis, map_size, directions, evaluations or 300, collision, rng, threads, crew,
                 output, as_json)  # fmt: skip
        return
    if mesh is None:
        raise InvalidInputError("name the MESH whose surface is to be reached, or say --map SIZE for a map.")
    if spin not in ("free", "fixed"):
        raise InvalidInputError(f"--spin is free or fixed, not {spin!r}.")
    if place is not None and len(base) > 1:
        raise InvalidInputError("--place looks for the base itself: name one --base at most, where it begins.")
    for name in touch:
        if not any(name in _link_names(model) for model in robots):
            raise UnknownNameError("link", name, robots[0].name, _link_names(robots[0]))
    surface, world = _surface(mesh, scale, mesh_pose, scene, touch, collision)
    where, normals = _targets(surface, points, scale, mesh_pose, targets, rng)
    from memetik.bench.reach import ReachSetup
    from memetik.bench.reach_scores import parse_weights

    weights = parse_weights(score)
    options = {"axis": axis, "free_spin": spin == "free", "standoff": standoff, "evaluations": evaluations or 4000,
               "weights": weights, "rng": rng}  # fmt: skip
    bases = [_pose(text, "--base") for text in base]
    setups = [
        ReachSetup(model if stand is None else model.at(stand), None if world is None else world.copy(), link or "",
                   **options)
        for model in robots for stand in (bases or [None])
    ]  # fmt: skip
    with clusters.workers(cluster, workers) as crew:
        if place is not None:
            _place([robot, *also], setups, surface, where, normals, place, places, passes, crew, output, as_json)
        else:
            sources = [name for name in (robot, *also) for _ in (bases or [None])]
            _study(sources, setups, surface, where, normals, passes, crew, output, as_json)


def _study(
    sources: list[str], setups: list[Any], surface: Any, points: Any, normals: Any, passes: int, crew: Any,
    output: list[str], as_json: bool,
) -> None:  # fmt: skip
    from memetik.bench.reach import reach_study
    from memetik.bench.reach_output import comparison_html, comparison_sentences, sentence

    results = []
    with progress_bar("solving", len(points) * len(setups)) as advance:
        for setup in setups:
            results.append(reach_study(setup, points, normals, passes=passes, workers=crew, progress=advance))
    labels = _labels(setups)
    order = sorted(range(len(setups)), key=lambda k: -results[k].coverage)
    words = comparison_sentences([labels[k] for k in order], [results[k] for k in order])
    further = comparison_html([labels[k] for k in order], [results[k] for k in order]) if len(setups) > 1 else []
    best = order[0]
    _write_study(output, labels[best], sources[best], setups[best], surface, results[best], further)
    if as_json:
        rows = [
            {"robot": s.robot.name, "base": s.robot.base_pose, **r.summary()}
            for s, r in zip(setups, results, strict=True)
        ]
        print_json("memetik.reach/1", {"studies": rows, "comparison": words, "files": output})
        return
    for k in order:
        print(f"{labels[k]}: {sentence(setups[k], results[k])}" if len(setups) > 1 else sentence(setups[k], results[k]))
    _print_passes(results[order[0]])
    for line in words:
        print(line)
    _print_files(output)


def _place(
    sources: list[str], setups: list[Any], surface: Any, points: Any, normals: Any, place: str, places: int,
    passes: int, crew: Any, output: list[str], as_json: bool,
) -> None:  # fmt: skip
    from dataclasses import replace

    from memetik.bench.reach_base import COORDINATES, place_base
    from memetik.bench.reach_output import comparison_html, comparison_sentences, placement_html, sentence

    founds = []
    with progress_bar("places", places * len(setups)) as advance:
        for setup in setups:
            region = _region(place, setup.robot.base_pose)
            founds.append(
                place_base(setup, points, normals, region, places=places, passes=passes, workers=crew, progress=advance)
            )
    moved = [replace(s, robot=s.robot.at(f.best[0][0].pose)) for s, f in zip(setups, founds, strict=True)]
    order = sorted(range(len(setups)), key=lambda k: -founds[k].best[0][0].value)
    labels = [f"{setups[k].robot.name} at its best place" for k in order]
    results = [founds[k].best[0][1] for k in order]
    words = comparison_sentences(labels, results)
    best = order[0]
    further = placement_html(founds[best], surface)
    if len(setups) > 1:
        further += comparison_html(labels, results)
    _write_study(output, labels[0], sources[best], moved[best], surface, results[0], further, founds[best])
    rows = [[dict(zip(COORDINATES, p.at, strict=True)) | r.summary() for p, r in found.best] for found in founds]
    if as_json:
        robots = [
            {"robot": setups[k].robot.name, "looked_at": len(founds[k].looked_at), "best": rows[k]} for k in order
        ]
        print_json("memetik.reach_place/2", {"robots": robots, "comparison": words, "files": output})
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
    _print_files(output)


def _map(
    robot: Any, scene: Any, link: str | None, axis: str, size: float, directions: int, evaluations: int,
    collision: bool, rng: int, threads: int, crew: Any, output: list[str], as_json: bool,
) -> None:  # fmt: skip
    from memetik.bench.reach_map import reach_map
    from memetik.bench.reach_map_output import map_figure, map_page, map_ply
    from memetik.bench.report_page import write_figure
    from memetik.files import write_whole

    with progress_bar("mapping", 1.0) as advance:
        last = 0.0

        def progress(share: float) -> None:
            nonlocal last
            advance(share - last)
            last = share

        found = reach_map(
            robot, link, size=size, directions=directions, axis=axis, evaluations=evaluations,
            self_collision=collision, scene=scene, rng=rng, threads=threads, workers=crew, progress=progress,
        )  # fmt: skip
    for path in output:
        ending = Path(path).suffix.lower()
        if ending == ".html":
            write_whole(path, map_page(robot, found, scene))
        elif ending == ".ply":
            write_whole(path, map_ply(found))
        else:
            write_figure(path, map_figure(robot, found))
    summary = found.summary()
    if as_json:
        print_json("memetik.reach_map/1", {"robot": robot.name, "link": found.link, **summary, "files": output})
        return
    print(
        f"{found.link} of {robot.name} reaches {found.volume:.3g} m3 ({summary['cells']} cells of {size:g} m), on "
        f"average from {summary['mean_index']:.0%} of {directions} directions, from all of them in "
        f"{summary['dexterous_volume']:.3g} m3; {found.solves:,} problems solved."
    )
    _print_files(output)


def _write_study(
    output: list[str], title: str, source: str, setup: Any, surface: Any, result: Any, further: list[str],
    found: Any = None,
) -> None:  # fmt: skip
    from memetik.bench.reach_file import ReachStudy, save_study
    from memetik.bench.reach_output import heat_part, ply_bytes, reach_figure, reach_page
    from memetik.bench.report_page import write_figure
    from memetik.files import write_whole

    for path in output:
        ending = Path(path).suffix.lower()
        if ending == ".html":
            write_whole(path, reach_page(f"Reach of {title}", setup, surface, result, further))
        elif ending == ".ply":
            write_whole(path, ply_bytes(heat_part(surface, result)))
        elif ending == ".npz":
            save_study(ReachStudy(source, setup, surface, result), path)
        else:
            write_figure(path, reach_figure(title, setup, surface, result, found))


def _surface(
    mesh: str, scale: float, pose: str | None, scene: str | None, touch: list[str], collision: bool
) -> tuple[Any, Any]:
    """The surface in the world, and the scene with it; None where nothing counts as touched."""
    import numpy as np

    import memetik as mk
    from memetik.bench.reach import SURFACE
    from memetik.scene.mesh_files import load_mesh
    from memetik.scene.objects import TriangleMesh

    own = load_mesh(mesh, scale=scale)
    where = np.eye(4) if pose is None else _pose(pose, "--mesh-pose")
    surface = TriangleMesh(own.vertices @ where[:3, :3].T + where[:3, 3], own.faces, own.source)
    world = mk.Scene.load(scene) if scene is not None else mk.Scene()
    world.add_mesh(SURFACE, surface)
    for link in touch:
        world.allow(link, SURFACE)
    return surface, world if collision else None


def _targets(surface: Any, points: str | None, scale: float, pose: str | None, count: int, rng: int) -> tuple[Any, Any]:
    """Points and normals in the world: those of a file, in the mesh's frame and unit, or drawn from the surface."""
    from memetik.errors import InvalidInputError
    from memetik.scene.surroundings import sample_triangles

    if points is not None:
        from memetik.scene.mesh_files import load_oriented_points

        where, normals = load_oriented_points(points)
        own = _pose(pose or "0 0 0", "--mesh-pose")
        return (scale * where) @ own[:3, :3].T + own[:3, 3], normals @ own[:3, :3].T
    if count < 1:
        raise InvalidInputError(f"--targets is at least 1, not {count}.")
    return sample_triangles(surface.triangles, count, rng)


def _region(text: str, base: Any) -> Any:
    """The region of --place; coordinates that are not named stay where the base is, and its tilt does."""
    from memetik.bench.reach_base import COORDINATES, Region, base_coordinates
    from memetik.errors import InvalidInputError, suggest

    at, tilt = base_coordinates(base)
    ranges = {name: (value, value) for name, value in zip(COORDINATES, at, strict=True)}
    for word in text.replace(",", " ").split():
        name, _, limits = word.partition("=")
        if name not in COORDINATES:
            raise InvalidInputError(f"--place knows no {name!r}; {suggest(name, COORDINATES)}")
        try:
            low, high = (float(value) for value in limits.split(":"))
        except ValueError:
            raise InvalidInputError(f"--place takes NAME=LOWER:UPPER, not {word!r}.") from None
        ranges[name] = (low, high)
    return Region(**ranges, tilt=tilt)


def _pose(text: str, option: str) -> Any:
    import memetik as mk
    from memetik.errors import InvalidInputError

    try:
        values = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        values = []
    if len(values) not in (3, 6):
        raise InvalidInputError(f"{option} takes 'x y z' or 'x y z roll pitch yaw', not {text!r}.")
    return mk.transform(values[:3], rpy=values[3:] or (0.0, 0.0, 0.0))


def _link_names(robot: Any) -> list[str]:
    return [link.name for link in robot.description.links]


def _labels(setups: list[Any]) -> list[str]:
    names = [setup.robot.name for setup in setups]
    if len(set(names)) == len(names):
        return names
    return [f"{s.robot.name} at ({', '.join(f'{v:g}' for v in s.robot.base_pose[:3, 3])})" for s in setups]


def check_outputs(paths: list[str], endings: tuple[str, ...]) -> None:
    """Before hours of work, whether its result can be written at all."""
    from memetik.errors import InvalidInputError

    for path in paths:
        if Path(path).suffix.lower() not in endings:
            raise InvalidInputError(f"-o takes files that end in {', '.join(filter(None, endings))}, not {path!r}.")
        if not Path(path).absolute().parent.is_dir():
            raise InvalidInputError(f"the folder of {path!r} does not exist.")


@contextmanager
def progress_bar(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal; more than the total moves the total."""
    import sys

    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)

        def advance(amount: float) -> None:
            progress.advance(task, amount)
            if progress.tasks[0].completed > (progress.tasks[0].total or 0.0):
                progress.update(task, total=2.0 * progress.tasks[0].completed)

        yield advance


def _print_passes(result: Any) -> None:
    print_table(
        (">pass", ">reached", ">mean score"),
        [(k + 1, f"{coverage:.1%}", f"{score:.3f}") for k, (coverage, score) in enumerate(result.passes)],
    )


def _print_files(output: list[str]) -> None:
    for path in output:
        print(f"written: {path}")
