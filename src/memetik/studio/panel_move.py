"""The tab with motion: way points, a plan through them, a timeline to play it on, curves; and teleoperation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.studio.files import NONE
from memetik.studio.setup import State

if TYPE_CHECKING:
    from memetik.studio.app import Studio

_SAMPLES = 240


class MovePanel:
    """Way points, plan, play."""

    def __init__(self, studio: Studio):
        self._studio = studio
        self.plan: Any = None
        gui = studio.server.gui
        with gui.add_folder("Way points"):
            self._way = gui.add_markdown("None yet: the motion passes them in order.")
            self._here = gui.add_button("Add the posture of now", icon="map-pin-plus")
            self._posture = gui.add_dropdown("Posture", (NONE,))
            self._edit = gui.add_button_group("Way points", ("Add it", "Drop last", "Clear"))
        with gui.add_folder("Plan"):
            self._make = gui.add_button("Plan", icon="route")
            self._told = gui.add_markdown("Collision-free, within limits of velocity and acceleration.")
            self._play = gui.add_button_group("Play", ("Play", "Pause", "Stop"))
            self._time = gui.add_slider("Time (s)", min=0.0, max=1.0, step=0.01, initial_value=0.0, disabled=True)
            self._speed = gui.add_slider("Speed", min=0.1, max=3.0, step=0.1, initial_value=1.0)
            self._repeat = gui.add_checkbox("Repeat", False)
            self._file = gui.add_text("Export to", "motion.csv", hint="Below the folder; .csv or .json.")
            self._export = gui.add_button("Export", icon="download", disabled=True)
        self._curves = gui.add_folder("Curves", expand_by_default=False)
        self._plots: list[Any] = []
        with self._curves:
            self._joint = gui.add_dropdown("Joint", ("all", *studio.state.robot.joint_names))
        with gui.add_folder("Teleoperation", expand_by_default=False):
            self._teleoperation = gui.add_checkbox(
                "Follow targets", False, hint="Within speed and acceleration limits."
            )
            self._limit = gui.add_slider("Of the limits (%)", min=5, max=100, step=5, initial_value=50)
        self._wire()

    def refresh(self, state: State, q: np.ndarray) -> None:
        if state.way:
            self._way.content = " → ".join(state.way)
        else:
            self._way.content = "None yet: the motion passes them in order."
        options = tuple(state.postures) or (NONE,)
        if tuple(self._posture.options) != options:
            self._posture.options = options
        player = self._studio.player
        if player.is_active and abs(self._time.value - player.time) > 0.005:
            self._time.value = min(round(player.time, 3), self._time.max)

    def use_robot(self, state: State) -> None:
        self._joint.options = ("all", *state.robot.joint_names)
        self._clear_curves()
        self.plan, self._studio.player.trajectory = None, None
        self._time.disabled = self._export.disabled = True

    def _wire(self) -> None:
        studio, setup, player = self._studio, self._studio.setup, self._studio.player

        @self._here.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: setup.set_way((*setup.state.way, setup.keep_posture())))

        @self._edit.on_click
        async def _(event: Any) -> None:
            what, name = self._edit.value, self._posture.value
            studio.do(event, lambda: self._edit_way(what, name))

        @self._make.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._start_plan(event))

        @self._play.on_click
        async def _(event: Any) -> None:
            what = self._play.value
            studio.do(event, lambda: self._run(what))

        @self._time.on_update
        async def _(event: Any) -> None:
            moment = float(self._time.value)
            studio.do(event, lambda: player.seek(moment), "seek")

        @self._speed.on_update
        async def _(event: Any) -> None:
            studio.do(event, lambda: setattr(player, "speed", float(self._speed.value)))

        @self._repeat.on_update
        async def _(event: Any) -> None:
            studio.do(event, lambda: setattr(player, "repeats", bool(self._repeat.value)))

        @self._export.on_click
        async def _(event: Any) -> None:
            name = self._file.value
            studio.do(event, lambda: self.export(name))

        @self._joint.on_update
        async def _(event: Any) -> None:
            studio.do(event, self._draw_curves)

        for field in (self._teleoperation, self._limit):

            @field.on_update
            async def _(event: Any) -> None:
                studio.do(event, self._set_teleoperation)

    def _edit_way(self, what: str, name: str) -> None:
        setup = self._studio.setup
        way = setup.state.way
        if what == "Add it":
            if name == NONE:
                raise InvalidInputError("keep a posture first, or add the posture of now.")
            setup.set_way((*way, name))
        else:
            setup.set_way(way[:-1] if what == "Drop last" else ())

    def _start_plan(self, event: Any) -> None:
        from memetik.studio.planning import plan_way

        state = self._studio.state
        if len(state.way) < 2:
            raise InvalidInputError("a motion needs two way points at least: where it begins, and where it ends.")
        self._make.disabled = True
        self._told.content = "Planning…"
        self._studio.in_background(lambda: plan_way(state), self._planned, event)

    def _planned(self, plan: Any) -> None:
        self._make.disabled = False
        if plan is None:
            self._told.content = "There is no plan."
            return
        self.plan = plan
        if not plan.success:
            self._told.content = f"**Not planned**, {plan.stage}: {plan.reason}"
            return
        self._told.content = f"**Planned**: {plan.duration:.2f} s"
        self._studio.player.load(plan.trajectory, plan.duration)
        self._time.max = max(0.02, round(plan.duration, 2))
        self._time.value = 0.0
        self._time.disabled = self._export.disabled = False
        self._draw_curves()

    def _run(self, what: str) -> None:
        player = self._studio.player
        if player.trajectory is None:
            raise InvalidInputError("plan a motion first.")
        if what == "Play":
            player.play()
        elif what == "Pause":
            player.pause()
        else:
            player.stop()
            player.time = 0.0

    def export(self, name: str) -> None:
        """Writes the motion below the folder."""
        from memetik.studio.planning import export_motion

        if self.plan is None or not self.plan.success:
            raise InvalidInputError("plan a motion first.")
        export_motion(self.plan.trajectory, self._studio.folder.path(name, (".csv", ".json")))
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
        from memetik.studio.planning import curves

        self._clear_curves()
        if self.plan is None or not self.plan.success:
            return
        robot = self._studio.state.robot
        chosen = self._joint.value
        names = robot.joint_names if chosen == "all" else (chosen,)
        gui = self._studio.server.gui
        times, groups = curves(self.plan.trajectory, robot, names, _SAMPLES)
        with self._curves:
            for title, rows, bounds in groups:
                series: list[dict[str, Any]] = [{"label": "t"}]
                series += [{"label": name, "stroke": _hue(k, len(names)), "width": 2} for k, name in enumerate(names)]
                data = [times, *rows]
                for bound in bounds:
                    series.append({"label": "limit", "stroke": "#dc2626", "width": 1, "dash": (6, 4)})
                    data.append(np.full(len(times), bound))
                self._plots.append(
                    gui.add_uplot(
                        tuple(data),
                        tuple(series),
                        title=title,
                        scales={"x": {"time": False}},
                        legend={"show": len(names) == 1},
                        aspect=1.9,
                    )
                )


def _hue(k: int, count: int) -> str:
    return f"hsl({int(360 * k / max(count, 1))}, 65%, 45%)"
