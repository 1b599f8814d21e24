"""Robots, solutions and plans to look at in a notebook, or as a page of their own: still or moving, without a server.

    robot.show(q)           solution.show()           plan.show()

In a notebook the result is shown by itself; `.save("page.html")` writes it, `.open()` opens it in a browser.
`solution.save_html("page.html")` and `plan.save_html("page.html")` write one file that plays without a network.
"""

from __future__ import annotations

import contextlib
import html
import secrets
import tempfile
import time
import webbrowser
from collections.abc import Generator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError, MissingExtraError
from memetik.files.atomic import write_whole
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.studio.server import close_server, viser_server
from memetik.studio.session.solving import ClearanceReport
from memetik.studio.session.targets import GoalEntry, handle_of
from memetik.studio.views.drawing import add_floor, view_of
from memetik.studio.views.goal_marks import PATH
from memetik.studio.views.robot_view import TOUCHING, Ghosts, RobotView, wxyz_of
from memetik.studio.views.scene_view import SceneView

if TYPE_CHECKING:
    from viser import ViserServer

    from memetik.motion.planning.plan import Plan
    from memetik.motion.timing.trajectory import Trajectory
    from memetik.solve.solution import Solution

FRAMES_PER_SECOND = 30.0

_PATH_POINTS = 120
_STILL = 1e-4
"""Metres within which a tip does not count as moving."""

_OPENED = "memetik-picture-"
_KEPT_SECONDS = 86_400.0


class Picture:
    """A page that shows something in three dimensions, complete in itself."""

    def __init__(self, page: str, height: int = 480):
        self.page, self.height = page, height

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page to a file, whole or not at all."""
        write_whole(path, self.page)

    def open(self) -> Path:
        """Opens the page in the browser; the file it is in, which the first picture opened a day later removes."""
        folder = Path(tempfile.gettempdir())
        for old in folder.glob(f"{_OPENED}*.html"):
            with contextlib.suppress(OSError):  # gone, or another user's
                if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
                    old.unlink()
        path = write_whole(folder / f"{_OPENED}{secrets.token_hex(8)}.html", self.page)
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        inside = html.escape(self.page, quote=True)
        style = "border:1px solid #ddd;width:100%"
        return f'<iframe srcdoc="{inside}" height="{self.height}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<Picture, {len(self.page) / 1e6:.1f} MB: .save(path) writes it, .open() shows it in a browser>"


def show_robot(
    robot: Robot,
    q: ArrayLike | None = None,
    scene: Scene | None = None,
    *,
    collision: bool = False,
    height: int = 480,
) -> Picture:
    """A robot in a configuration, by default the middle of its limits; several configurations (N, dof) are drawn as
    ghosts. `collision` shows its collision shapes and the bodies that the search takes for them."""
    configurations = np.atleast_2d(robot.neutral if q is None else robot.check_q(q))
    with _stage(robot, scene) as stage:
        stage.look(configurations[0])
        if collision:
            stage.show_collision()
        if len(configurations) > 1:
            ghosts = Ghosts(stage.server, robot, "/ghosts")
            ghosts.show(configurations[1:], np.tile([59, 130, 246], (len(configurations) - 1, 1)))
        return Picture(stage.server.scene.as_html(), height)


def show_solution(solution: Solution, *, height: int = 480) -> Picture:
    """The configuration of a solution with its targets, in the scene of its problem."""
    problem = solution.problem
    scene = problem.scene if isinstance(problem.scene, Scene) else None
    robot = problem.robot if solution.base is None else problem.robot.at(solution.base)
    with _stage(robot, scene) as stage:
        stage.look(solution.q)
        given = {problem.goal_names[t.goal]: v for t, v in zip(problem.open_targets, solution.targets, strict=True)}
        for number, (name, goal) in enumerate(zip(problem.goal_names, problem.goals, strict=True)):
            entry = GoalEntry(name, goal, given[name]) if name in given else GoalEntry.of(goal, name)
            handle = handle_of(entry, robot, solution.q)
            if handle is not None:
                stage.server.scene.add_frame(
                    f"/targets/{number}",
                    axes_length=0.12,
                    axes_radius=0.006,
                    position=handle.pose[:3, 3],
                    wxyz=wxyz_of(handle.pose),
                )
        if scene is not None or problem.self_collision:
            stage.mark(solution.q, self_collision=True)
        return Picture(stage.server.scene.as_html(), height)


def show_plan(plan: Plan, scene: Scene | None = None, *, height: int = 480, speed: float = 1.0) -> Picture:
    """A planned motion as it runs, in its own scene unless another is given; it repeats. Without a trajectory, an error
    that says why there is none."""
    trajectory = plan.trajectory
    if trajectory is None:
        raise InvalidInputError(f"there is no motion to show: {plan.stage}: {plan.reason}.")
    own = plan.conditions.scene if plan.conditions is not None else None
    seen = scene if scene is not None else own if isinstance(own, Scene) else None
    return show_motion(plan.robot, trajectory, seen, height=height, speed=speed)


def show_motion(
    robot: Robot, trajectory: Trajectory, scene: Scene | None = None, *, height: int = 480, speed: float = 1.0
) -> Picture:
    """A trajectory of a robot as it runs, with the paths of its tips."""
    with _stage(robot, scene) as stage:
        stage.look(trajectory.at(0.0))
        stage.trace(trajectory)
        count = max(2, int(np.ceil(trajectory.duration / speed * FRAMES_PER_SECOND)))
        recording = stage.server.get_scene_serializer()
        for moment in np.linspace(0.0, trajectory.duration, count):
            stage.pose(trajectory.at(moment))
            recording.insert_sleep(1.0 / FRAMES_PER_SECOND)
        recording.insert_sleep(0.7)
        return Picture(recording.as_html(), height)


class _Stage:
    """A scene that is drawn once and then kept as a page."""

    def __init__(self, server: ViserServer, robot: Robot, scene: Scene | None):
        self.server, self.robot, self.scene = server, robot, scene
        add_floor(server, 6.0)
        self._robot_view = RobotView(server, robot, "/robot")
        self._scene_view = SceneView(server, robot)

    def look(self, q: np.ndarray) -> None:
        """Puts the robot in a configuration, and looks at it."""
        self.pose(q)
        centre, offset = view_of(self.robot.pose(self.robot.links, q)[:, :3, 3])
        self.server.initial_camera.look_at, self.server.initial_camera.position = centre, centre + offset

    def show_collision(self) -> None:
        self._robot_view.show_meshes(False)
        self._robot_view.show_collision(True)

    def pose(self, q: np.ndarray) -> None:
        self._robot_view.show(q)
        if self.scene is not None:
            self._scene_view.show(self.scene.snapshot(), q)

    def trace(self, trajectory: Trajectory) -> None:
        """The paths of the tips."""
        moments = np.linspace(0.0, trajectory.duration, _PATH_POINTS)
        for number, tip in enumerate(self.robot.tips):
            points = self.robot.pose(tip, trajectory.at(moments))[:, :3, 3]
            if np.ptp(points, axis=0).max() > _STILL:
                lines = np.stack([points[:-1], points[1:]], axis=1)
                self.server.scene.add_line_segments(
                    f"/paths/{number}", lines, colors=PATH, thickness=3.0, thickness_units="screen"
                )

    def mark(self, q: np.ndarray, self_collision: bool) -> None:
        """What touches, where it can be told."""
        try:
            model = CollisionModel(self.robot, self.scene, self_collision=self_collision)
        except MissingExtraError:
            return
        report = ClearanceReport(tuple(model.contacts(q)))
        self._scene_view.mark(report)
        self._robot_view.paint(dict.fromkeys(report.touching, TOUCHING))


@contextlib.contextmanager
def _stage(robot: Robot, scene: Scene | None) -> Generator[_Stage]:
    """A stage whose server lives only meanwhile, on this machine."""
    server = viser_server("127.0.0.1", 0)
    try:
        yield _Stage(server, robot, scene)
    finally:
        close_server(server)
