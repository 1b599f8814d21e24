"""The tab with motion: waypoints, a plan through them, a timeline to play it on, curves; and teleoperation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memetik.errors import InvalidInputError
from memetik.studio.panels.panel import NONE, Panel, offer
from memetik.studio.session.motion import WaypointPlan, curves, plan_waypoints
from memetik.studio.session.session import State

if TYPE_CHECKING:
    from viser import GuiUplotHandle

_SAMPLES = 240
_NO_WAYPOINTS = "None yet: the motion passes them in order."


class MovePanel(Panel):
    """Waypoints, plan, play."""

    TITLE: ClassVar[str] = "Move"

    def _build(self, state: State) -> None:
        gui, player = self._gui, self._studio.player
        self.plan: WaypointPlan | None = None
        self._plots: list[GuiUplotHandle] = []
        with gui.add_folder("Waypoints"):
            self._waypoints = gui.add_markdown(_NO_WAYPOINTS)
            self._button("Add current configuration", "map-pin-plus", self._add_current)
            self._configuration = gui.add_dropdown("Configuration", (NONE,))
            self._buttons("Waypoints", ("Add it", "Drop last", "Clear"), self._edit, self._configuration)
        with gui.add_folder("Plan"):
            self._make = self._button("Plan", "route", self._start_plan)
            self._told = gui.add_markdown("Collision-free, within limits of velocity and acceleration.")
            self._buttons("Play", ("Play", "Pause", "Stop"), self._run)
            self._time = gui.add_slider("Time (s)", min=0.0, max=1.0, step=0.01, initial_value=0.0, disabled=True)
            self._wired(self._time, player.seek, "seek")
            speed = gui.add_slider("Speed", min=0.1, max=3.0, step=0.1, initial_value=1.0)
            self._wired(speed, lambda value: setattr(player, "speed", value))
            self._wired(gui.add_checkbox("Repeat", False), lambda on: setattr(player, "repeats", on))
            file = gui.add_text("Export to", "motion.csv", hint="Below the folder; .csv or .json.")
            self._export = self._button("Export", "download", self.export, file, disabled=True)
        self._curves = gui.add_folder("Curves", expand_by_default=False)
        with self._curves:
            self._joint = gui.add_dropdown("Joint", ("all", *state.robot.joint_names))
            self._studio.when(self._joint.on_update, self._draw_curves)
        with gui.add_folder("Teleoperation", expand_by_default=False):
            self._teleoperation = gui.add_checkbox(
                "Follow targets", False, hint="Within speed and acceleration limits."
            )
            self._limit = gui.add_slider("Of the limits (%)", min=5, max=100, step=5, initial_value=50)
            for field in (self._teleoperation, self._limit):
                self._studio.when(field.on_update, self._set_teleoperation)

    def refresh(self, state: State, q: np.ndarray) -> None:
        self._waypoints.content = " → ".join(state.waypoints) or _NO_WAYPOINTS
        offer(self._configuration, tuple(state.configurations))
        player = self._studio.player
        if player.is_active and abs(self._time.value - player.time) > 0.005:
            self._time.value = min(round(player.time, 3), self._time.max)

    def use_robot(self, state: State) -> None:
        self._joint.options = ("all", *state.robot.joint_names)
        self._clear_curves()
        self.plan, self._studio.player.trajectory = None, None
        self._time.disabled = self._export.disabled = True

    def _add_current(self) -> None:
        self._session.set_waypoints((*self._session.state.waypoints, self._session.keep_configuration()))

    def _edit(self, what: str, name: str) -> None:
        waypoints = self._session.state.waypoints
        if what == "Add it":
            if name == NONE:
                raise InvalidInputError("keep a configuration first, or add the current configuration.")
            self._session.set_waypoints((*waypoints, name))
        else:
            self._session.set_waypoints(waypoints[:-1] if what == "Drop last" else ())

    def _start_plan(self) -> None:
        state = self._studio.state
        if len(state.waypoints) < 2:
            raise InvalidInputError("a motion needs two waypoints at least: where it begins, and where it ends.")
        self._make.disabled = True
        self._told.content = "Planning…"
        self._studio.in_background(lambda: plan_waypoints(state), self._planned)

    def _planned(self, plan: WaypointPlan | None) -> None:
        self._make.disabled = False
        if plan is None:
            self._told.content = "There is no plan."
            return
        self.plan = plan
        if plan.trajectory is None:
            self._told.content = f"**Not planned**, {plan.stage}: {plan.reason}"
            return
        duration = float(plan.trajectory.duration)
        self._told.content = f"**Planned**: {duration:.2f} s"
        self._studio.player.load(plan.trajectory)
        self._time.max = max(0.02, round(duration, 2))
        self._time.value = 0.0
        self._time.disabled = self._export.disabled = False
        self._draw_curves()

    def _run(self, what: str) -> None:
        player = self._studio.player
        if player.trajectory is None:
            raise InvalidInputError("plan a motion first.")
        getattr(player, what.lower())()
        if what == "Stop":
            player.time = 0.0

    def export(self, name: str) -> None:
        """Writes the motion below the folder: a table of positions, velocities and accelerations (.csv), or as it is
        (.json)."""
        if self.plan is None or self.plan.trajectory is None:
            raise InvalidInputError("plan a motion first.")
        self.plan.trajectory.save(self._studio.folder.path(name, (".csv", ".json")))
        self._studio.say(f"{name} is written.")

    def _set_teleoperation(self) -> None:
        studio = self._studio
        studio.teleoperation = self._limit.value / 100.0 if self._teleoperation.value else None
        studio.solver.stop_tracking()
        studio.tracked = None
        studio.solve_again()

    def _clear_curves(self) -> None:
        for plot in self._plots:
            plot.remove()
        self._plots = []

    def _draw_curves(self) -> None:
        """Position within its range, velocity and acceleration as shares of their limits."""
        self._clear_curves()
        if self.plan is None or self.plan.trajectory is None:
            return
        robot, chosen = self._studio.state.robot, self._joint.value
        names = robot.joint_names if chosen == "all" else (chosen,)
        times, groups = curves(self.plan.trajectory, robot, names, _SAMPLES)
        hues = [f"hsl({int(360 * k / len(names))}, 65%, 45%)" for k in range(len(names))]
        with self._curves:
            for title, rows, bounds in groups:
                series: list[dict[str, Any]] = [{"label": "t"}]
                series += [{"label": name, "stroke": hue, "width": 2} for name, hue in zip(names, hues, strict=True)]
                series += [{"label": "limit", "stroke": "#dc2626", "width": 1, "dash": (6, 4)} for _ in bounds]
                plot = self._gui.add_uplot(
                    (times, *rows, *(np.full(len(times), bound) for bound in bounds)),
                    tuple(series),  # type: ignore[arg-type]
                    title=title,
                    scales={"x": {"time": False}},
                    legend={"show": len(names) == 1},
                    aspect=1.9,
                )
                self._plots.append(plot)
