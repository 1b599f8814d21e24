"""A reach study as a file, to be opened again: what was asked, of which surface, and what came of each target.

reach.npz         arrays, and "study", a JSON text: {"schema": "memetik.reach_study/1", "robot": ..., "base": ...}
reach.scene.toml  the obstacles besides the surface, where there are any, as `Scene.save` writes them
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.reach.output import SURFACE, without_surface
from memetik.bench.reach.scores import MEASURES, Scores
from memetik.bench.reach.study import STATES, ReachResult, ReachSetup
from memetik.errors import InvalidInputError, MemetikError
from memetik.files.atomic import replacing
from memetik.files.schema import parse_table
from memetik.geometry.shapes import TriangleMesh
from memetik.robot.robot import load_robot
from memetik.scene.scene import Scene

SCHEMA = "memetik.reach_study/1"
SUFFIX = ".npz"
SCENE_SUFFIX = ".scene.toml"

_SETUP = ("link", "axis", "free_spin", "standoff", "evaluations", "weights", "rng")


@dataclass(frozen=True, eq=False)
class ReachStudy:
    """A study and all it takes to go on with it. `source` is what `load_robot` takes, `surface` is in the world."""

    source: str
    setup: ReachSetup
    surface: TriangleMesh
    result: ReachResult


def save_study(study: ReachStudy, path: str | os.PathLike[str]) -> None:
    """Writes a study to a .npz file, further obstacles to a scene's file beside it."""
    path, setup, result = Path(path), study.setup, study.result
    if path.suffix.lower() != SUFFIX:
        raise InvalidInputError(f"a reach study is saved as a {SUFFIX} file, not as {path.name!r}.")
    others, beside = without_surface(setup), None
    if others is not None and len(others):
        beside = path.stem + SCENE_SUFFIX
        others.save(path.with_name(beside))
    facts = {
        "schema": SCHEMA,
        "robot": study.source,
        "base": setup.robot.base_pose.tolist(),
        "collision": setup.scene is not None,
        "scene": beside,
        "allowed": [] if setup.scene is None else sorted(setup.scene.allowed),
        **{name: _plain(getattr(setup, name)) for name in _SETUP},
    }
    arrays = {
        "vertices": study.surface.vertices,
        "faces": study.surface.faces,
        **{name: getattr(result, name) for name in ("points", "normals", "state", "q")},
        **{name: getattr(result.scores, name) for name in (*MEASURES, "score")},
        "passes": np.array(result.passes, dtype=float).reshape(-1, 2),
    }
    with replacing(path) as temporary:
        np.savez_compressed(temporary, study=np.array(json.dumps(facts)), **arrays)


def study_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a study's file says of itself: its robot, its scene and what was asked."""
    return _read(Path(path))[0]


def load_study(path: str | os.PathLike[str]) -> ReachStudy:
    """Reads what `save_study` wrote."""
    path = Path(path)
    facts, arrays = _read(path)
    try:
        return _study(facts, arrays, path.parent)
    except MemetikError as error:
        raise InvalidInputError(f"the reach study {path.name!r} cannot be opened: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"the reach study {path.name!r} is damaged: {error}.") from None


def _study(facts: dict[str, Any], arrays: dict[str, np.ndarray], folder: Path) -> ReachStudy:
    robot = load_robot(facts["robot"]).at(facts["base"])
    surface = TriangleMesh(arrays["vertices"], arrays["faces"], SURFACE)
    scene = None
    if facts["collision"]:
        scene = Scene() if facts["scene"] is None else Scene.load(folder / Path(facts["scene"]).name)
        scene.add_mesh(SURFACE, surface)
        for first, second in facts["allowed"]:
            scene.allow(first, second)
    count = len(arrays["points"])
    shapes = {"points": (count, 3), "normals": (count, 3), "state": (count,), "q": (count, robot.dof)}
    for name, shape in (shapes | dict.fromkeys((*MEASURES, "score"), (count,))).items():
        if arrays[name].shape != shape:
            raise InvalidInputError(f"its {name} have shape {arrays[name].shape}, not {shape}.")
        if not np.isfinite(arrays[name]).all():
            raise InvalidInputError(f"its {name} are not all finite.")
    if not count or not np.isin(arrays["state"], range(len(STATES))).all():
        raise InvalidInputError("it has no targets, or targets in no known state.")
    scores = Scores(**{name: arrays[name] for name in (*MEASURES, "score")})
    passes = tuple((float(coverage), float(score)) for coverage, score in arrays["passes"])
    points, normals, state, q = (arrays[name] for name in ("points", "normals", "state", "q"))
    result = ReachResult(points, normals, state, q, scores, passes)
    setup = ReachSetup(robot, scene, **{name: facts[name] for name in _SETUP})
    return ReachStudy(facts["robot"], setup, surface, result)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            text = str(file["study"])
            arrays = {name: file[name] for name in file.files if name != "study"}
    except OSError as error:
        raise InvalidInputError(f"{path.name!r} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error):
        raise InvalidInputError(f"{path.name!r} is not a reach study as `memetik reach -o` writes it.") from None
    return dict(parse_table(text, "json", f"the reach study {path.name!r}").schema(SCHEMA).data), arrays


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float) or value is None:
        return value
    return dict(value) if hasattr(value, "items") else np.asarray(value).tolist()
