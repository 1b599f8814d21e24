"""Modules and names of release 0.1, so that pickles and programs written for it still work.

An old module looks its names up where they are now, and importing one warns; so does using an old name. They go with
the next release but one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_MOVED = {
    "bench bench.reach": (
        "reach_base=base reach_file=file reach_map=map reach_map_output=map_output reach_output=output "
        "reach_scores=scores"
    ),
    "bench bench.report": (
        "compare export plots plots_style report_data=data report_page=page report_scene=scene "
        "report_tables=tables statistics summary viewer viewer_image"
    ),
    "bench bench.run": (
        "cluster=worker_pool contest=comparison machine runner sample schema seeding spec store verification"
    ),
    "bench bench.tuning": "tune tune_output=output tune_space=space",
    "bench.scenarios bench.scenarios": (
        "clutter=configurations draft=target_draft postures=configurations recipe=target_draft "
        "streams=configurations surfaces=recipes"
    ),
    "goals goals": (
        "checks=arguments contacts=clearance geometry=link_geometry partial=partial_orientation place=line_plane "
        "posture=regularization scan=viewpoint"
    ),
    "motion motion.execution": "bring_up driver faults physics_model physics_shapes recovery simulation tcp",
    "motion motion.planning": (
        "branches=configuration_graph cartesian certify=proofs follow moves ompl_planners paths pipeline plan "
        "postures=goal_configurations reach=free_space smoothing=paths space=free_space"
    ),
    "motion motion.tasks": "sequencer task task_file task_report=report",
    "motion motion.timing": (
        "blend_timing=blend limits pieces=rest_segments polynomials reduce=rest_segments ruckig_timing=ruckig "
        "spline_timing=spline toppra_timing=toppra trajectory trajectory_file"
    ),
    "robot files": "toml_text=toml_writer xmltree=xml_tree",
    "robot geometry": "rotations=transforms shapes transforms",
    "robot robot": "content=description_digest semantics=groups",
    "robot robot.readers": (
        "bvh dh limits_file meshes=mesh_paths mjcf mjcf_couplings mjcf_geoms mjcf_settings mjcf_solids "
        "setup_file=config_file srdf urdf xacro"
    ),
    "robot.doctor doctor": "bodies contacts diagnose geometry joints semantics",
    "robot.doctor robot": "finding=findings",
    "scene collision": (
        "allowed=allowed_pairs bodies continuous exact fast layout padding=bodies pairs robot_bodies=robot_spheres"
    ),
    "scene geometry": (
        "cache field=distance_field formats mesh_files openings polygons primitives solids=closed_surface tessellate"
    ),
    "scene scene": "spots=surface_points",
    "scene.formats geometry.formats": "dae gltf obj pcd ply raw stl",
    "solve collision": "confinement=context",
    "solve solve": "chain=chain_bounds guide=opening_guide reach=reach_proofs statement=hard_terms",
    "solve.methods solve.literature": (
        "analytic bio cached cascade ccd decoupled delegate descent=newton fabrik network neural newton optimisers "
        "pick=bio pivot populations relaxed relaxed_losses=relaxed relaxed_stream serial trac"
    ),
    "solve.methods solve.methods": "checks=parameters tolerances=task",
    "studio studio.panels": (
        "forms methods=forms panel_file=file panel_joints=joints panel_move=move panel_pose=pose "
        "panel_results=results panel_scene=scene"
    ),
    "studio studio.session": (
        "evolution files loop motion planning=motion results script setup=session solving status targets"
    ),
    "studio studio.views": "drawing gizmos robot_view scene_view show",
}
"""Old folder and new folder, below memetik -> the modules that went from one to the other: a name, or old=new."""

_SPLIT = {
    "robot.doctor": "doctor",
    "scene.objects": "geometry.shapes scene.scene_object",
    "scene.spheres": "geometry.sphere_fit geometry.tessellate",
    "scene.surroundings": "bench.scenarios.surroundings geometry.surface_points",
}
"""Old module -> the package it became, or the modules that its names were spread over."""

MODULES = {
    f"{old}.{name}": f"{new}.{new_name or name}"
    for folders, names in _MOVED.items()
    for old, new in [folders.split()]
    for name, _, new_name in (entry.partition("=") for entry in names.split())
} | _SPLIT
"""Old module -> the modules, below memetik, that hold its names now."""

OLD_NAMES = {
    "goals.base.MUST": "goals.base.HARD",
    "goals.base.PREFER": "goals.base.SOFT",
    "goals.clearance.Penetration": "goals.clearance.NoPenetration",
    "goals.compiler.Compiler": "goals.compiler.GoalCompiler",
    "goals.direction.Side": "goals.direction.AvoidDirection",
    "goals.project.Project": "goals.project.ProjectOntoSurface",
    "goals.regularization.Center": "goals.regularization.CenterJoints",
    "goals.regularization.Displacement": "goals.regularization.MinimalDisplacement",
    "goals.regularization.Effort": "goals.regularization.GravityTorque",
    "goals.viewpoint.Scan": "goals.viewpoint.Viewpoint",
    "studio.SetUp": "studio.session.session.Session",
    "studio.session.session.SetUp": "studio.session.session.Session",
    "motion.execution.bring_up.SetupReport": "motion.execution.bring_up.BringUpReport",
    "motion.execution.bring_up.set_up": "motion.execution.bring_up.bring_up",
    "motion.planning.goal_configurations.PostureResult": "motion.planning.goal_configurations.ConfigurationResult",
    "motion.planning.goal_configurations.find_postures": "motion.planning.goal_configurations.find_configurations",
    "motion.planning.moves.Mover": "motion.planning.moves.MovePlanner",
    "scene.surface_points.Spots": "scene.surface_points.SurfacePoints",
    "scene.surface_points.surface_spots": "scene.surface_points.sample_surface",
    "solve.inspection.inspect": "solve.inspection.plan_inspection",
    "solve.methods.method.Search": "solve.methods.method.PythonMethod",
    "solve.methods.task.Stop": "solve.methods.task.BudgetExceeded",
    "solve.methods.task.Task": "solve.methods.task.SearchTask",
    "solve.methods.task.WantedPose": "solve.methods.task.PoseTarget",
    "solve.tracker.Step": "solve.tracker.TrackerStep",
}
"""Module and old name -> module and new name, below memetik. The old name is found in a module that calls
`serve_old_names`, in its package where that calls it too, and, where the new name is public, in `memetik`."""

_PREFIX = "memetik."


def serve_old_names(module: str) -> None:
    """Lets a module be asked for its old names: `serve_old_names(__name__)`, called at its end. So may the modules of a
    package that are loaded by then."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{module}.")]:
        vars(sys.modules[name]).setdefault("__getattr__", partial(old_name, name))


def old_name(module: str, name: str) -> object:
    """What had this name in a module, with a warning; an AttributeError where nothing had."""
    inside = f"{module}.".removeprefix(_PREFIX)
    for old, new in OLD_NAMES.items():
        home, _, new_name = new.rpartition(".")
        if old.startswith(inside) and old.endswith(f".{name}") and (inside or new_name in dir(sys.modules["memetik"])):
            warnings.warn(f"{module}.{name} is now called {new_name}.", DeprecationWarning, stacklevel=3)
            return getattr(import_module(_PREFIX + home), new_name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


class _OldModule(ModuleType):
    """Stands where a module was."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        homes = MODULES[self.__name__.removeprefix(_PREFIX)].split()
        for home in homes:
            module = import_module(_PREFIX + home)
            if hasattr(module, name):
                return getattr(module, name)
            with suppress(AttributeError):
                return old_name(module.__name__, name)
        raise AttributeError(f"module {self.__name__!r} has moved to {_PREFIX}{homes[0]}, which has no {name!r}")


class OldModules:
    """Finds and loads old modules. It is asked last, so that it never hides a module that exists.

    The methods are those of importlib.abc's finders and loaders; to import that module would take longer than all else.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.removeprefix(_PREFIX) in MODULES and fullname.startswith(_PREFIX):
            return ModuleSpec(fullname, self, is_package=True)  # pyright: ignore[reportArgumentType]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _OldModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        homes = MODULES[module.__name__.removeprefix(_PREFIX)].split()
        warnings.warn(f"{module.__name__} has moved to {_PREFIX}{homes[0]}.", DeprecationWarning, stacklevel=2)


def install() -> None:
    """Lets old modules be imported."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())
