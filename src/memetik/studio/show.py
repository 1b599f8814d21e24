"""Robots, solutions and plans to look at in a notebook, or as a page of their own: still or moving, without a server.

    robot.show(q)           solution.show()           plan.show()

In a notebook the result is shown by itself; `.save("page.html")` writes it, `.open()` opens it in a browser.
"""

from __future__ import annotations

import contextlib
import html
import io
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.robot import Robot
from memetik.studio.robot_view import Ghosts, RobotView, wxyz_of
from memetik.studio.scene_view import SceneView
from memetik.studio.server import close_server, viser
from memetik.studio.solving import Nearness

FRAMES_PER_SECOND = 30.0


class Picture:
    """A page that shows something in three dimensions, complete in itself."""

    def __init__(self, page: str, height: int = 480):
        self.page, self.height = page, height

    def save(self, path: Any) -> None:
        """Writes the page to a file."""
        Path(path).write_text(self.page, encoding="utf-8")

    def open(self) -> Path:
        """Opens the page in the browser; the file it is in."""
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self.page)
        webbrowser.open(Path(file.name).as_uri())
        return Path(file.name)

    def _repr_html_(self) -> str:
        inside = html.escape(self.page, quote=True)
        style = "border:1px solid #ddd;width:100%"
        return f'<iframe srcdoc="{inside}" height="{self.height}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<Picture, {len(self.page) / 1e6:.1f} MB: .save(path) writes it, .open() shows it in a browser>"


def show_robot(robot: Robot, q: Any = None, scene: Any = None, *, height: int = 480) -> Picture:
    """A robot in a posture, by default the middle of its limits; several postures (N, dof) are drawn as ghosts."""
    postures = np.atleast_2d(robot.neutral if q is None else robot.check_q(q))
    with _Stage(robot, scene) as stage:
        stage.pose(postures[0])
        if len(postures) > 1:
            ghosts = Ghosts(stage.server, robot, "/ghosts")
            ghosts.show(postures[1:], np.tile([59, 130, 246], (len(postures) - 1, 1)))
        return Picture(stage.page(), height)


def show_solution(solution: Any, *, height: int = 480) -> Picture:
    """The posture of a solution with its targets, in the scene of its problem."""
    from memetik.studio.targets import Wanted, handle_of

    problem = solution.problem
    scene = problem.scene if hasattr(problem.scene, "snapshot") else None
    robot = problem.robot if solution.base is None else problem.robot.at(solution.base)
    with _Stage(robot, scene) as stage:
        stage.pose(solution.q)
        given = {problem.goal_names[t.goal]: v for t, v in zip(problem.open_targets, solution.targets, strict=True)}
        for number, (name, goal) in enumerate(zip(problem.goal_names, problem.goals, strict=True)):
            wanted = Wanted(name, goal, given[name]) if name in given else Wanted.of(goal, name)
            handle = handle_of(wanted, robot, solution.q)
            if handle is not None:
                stage.server.scene.add_frame(
                    f"/targets/{number}",
                    axes_length=0.12,
                    axes_radius=0.006,
                    position=handle.pose[:3, 3],
                    wxyz=wxyz_of(handle.pose),
                )
        if scene is not None or problem.self_collision:
            stage.mark(solution.q, bool(problem.self_collision or scene is not None))
        return Picture(stage.page(), height)


def show_plan(plan: Any, scene: Any = None, *, height: int = 480, speed: float = 1.0) -> Picture:
    """A planned motion as it runs; it repeats. Without a trajectory, an error that says why there is none."""
    trajectory = getattr(plan, "trajectory", plan)
    if trajectory is None:
        raise InvalidInputError(f"there is no motion to show: {plan.stage}: {plan.reason}.")
    return show_motion(plan.robot, trajectory, scene, height=height, speed=speed)


def show_motion(robot: Robot, trajectory: Any, scene: Any = None, *, height: int = 480, speed: float = 1.0) -> Picture:
    """A trajectory of a robot as it runs."""
    with _Stage(robot, scene) as stage:
        stage.pose(trajectory.at(0.0))
        count = max(2, int(np.ceil(trajectory.duration / speed * FRAMES_PER_SECOND)))
        recording = stage.server.get_scene_serializer()
        for moment in np.linspace(0.0, trajectory.duration, count):
            stage.pose(trajectory.at(moment))
            recording.insert_sleep(1.0 / FRAMES_PER_SECOND)
        recording.insert_sleep(0.7)
        return Picture(recording.as_html(), height)


class _Stage:
    """A scene that is drawn once and then kept as a page; its server lives only meanwhile, on this machine."""

    def __init__(self, robot: Robot, scene: Any = None):
        self.robot, self.scene = robot, scene
        with contextlib.redirect_stdout(io.StringIO()):
            self.server = viser().ViserServer(host="127.0.0.1", port=0, verbose=False)
        server = self.server
        server.scene.world_axes.visible = False
        server.scene.configure_environment_map("city", background=False)
        server.scene.add_grid(
            "/grid", width=6.0, height=6.0, cell_size=0.1, section_size=0.5, plane="xy",
            cell_color=(225, 228, 233), section_color=(190, 197, 207), fade_distance=7.0, shadow_opacity=0.2,
        )  # fmt: skip
        self._robot_view = RobotView(server, robot, "/robot")
        self._scene_view = SceneView(server, robot, lambda *_: None)
        self._looked = False

    def __enter__(self) -> _Stage:
        return self

    def __exit__(self, *_: object) -> None:
        close_server(self.server)

    def pose(self, q: np.ndarray) -> None:
        self._robot_view.show(np.asarray(q, dtype=float))
        if self.scene is not None:
            self._scene_view.show(self.scene.snapshot(), q)
        if not self._looked:
            self._looked = True
            self._look(q)

    def mark(self, q: np.ndarray, self_collision: bool) -> None:
        """What touches, where it can be told."""
        from memetik.errors import MissingExtraError
        from memetik.scene.exact import CollisionModel

        try:
            model = CollisionModel(self.robot, self.scene, self_collision=self_collision)
        except MissingExtraError:
            return
        contacts = tuple(model.contacts(q))
        touching = frozenset(name for contact in contacts for name in (contact.first, contact.second))
        self._scene_view.mark(Nearness(contacts, touching=touching))
        self._robot_view.paint(dict.fromkeys(touching, (239, 68, 68)))

    def page(self) -> str:
        return self.server.scene.as_html()

    def _look(self, q: np.ndarray) -> None:
        from memetik.studio.app import VIEW, view_of

        centre, size = view_of(self.robot.pose(self.robot.links, q)[:, :3, 3])
        self.server.initial_camera.look_at = centre
        self.server.initial_camera.position = centre + size * VIEW
