"""The tab with the joints: sliders, joints that are held, configurations under names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from memetik.robot.robot import Robot
from memetik.studio.panels.panel import NONE, Panel, offer
from memetik.studio.session.session import State

if TYPE_CHECKING:
    from viser import GuiSliderHandle

_STATE = "robot: "  # before the names of configurations that the description brings


class JointsPanel(Panel):
    """A slider for each joint, always at the joint's value."""

    TITLE: ClassVar[str] = "Joints"

    def _build(self, state: State) -> None:
        gui = self._gui
        with gui.add_folder("Configurations"):
            self._name = gui.add_text("Name", "", hint="Left empty, a number is given.")
            self._button("Keep this configuration", "bookmark", self._keep, self._name)
            self._configuration = gui.add_dropdown("Configuration", _options(state) or (NONE,))
            self._buttons("Configuration", ("Go to", "Remove"), self._use, self._configuration)
        self._sliders: list[GuiSliderHandle[float]] = []
        self._container = gui.add_folder("Joints")
        with gui.add_folder("Held joints", expand_by_default=False):
            self._joint = gui.add_dropdown("Joint", state.robot.joint_names or (NONE,))
            self._buttons("Held", ("Hold", "Release"), self._hold, self._joint)
            self._held = gui.add_markdown("All joints are free.")
        self._add_sliders(state)

    def refresh(self, state: State, q: np.ndarray) -> None:
        shown = q * _factors(state.robot)
        for slider, value in zip(self._sliders, shown.tolist(), strict=True):
            if abs(slider.value - value) > 0.5 * slider.step:
                slider.value = min(max(round(value, 4), slider.min), slider.max)
        offer(self._configuration, _options(state))
        held = ", ".join(sorted(state.held))
        self._held.content = f"Held: {held}" if held else "All joints are free."

    def use_robot(self, state: State) -> None:
        offer(self._joint, state.robot.joint_names)
        self._add_sliders(state)

    def _add_sliders(self, state: State) -> None:
        for slider in self._sliders:
            slider.remove()
        self._sliders = []
        robot = state.robot
        shared = _shared_beginning(robot.joint_names)
        factors = _factors(robot)
        with self._container:
            for entry, name in enumerate(robot.joint_names):
                low, high = (factors[entry] * bound for bound in slider_range(robot, entry))
                unit, digits = ("°", 1) if robot.turning[entry] else ("m", 4)
                # Bounds that can be read, a little outside: what is set is clipped to the limits.
                least, most = np.floor(low * 10**digits) / 10**digits, np.ceil(high * 10**digits) / 10**digits
                label = f"{name.removeprefix(shared)} ({unit})"
                slider = self._gui.add_slider(
                    label if len(label) <= 26 else "…" + label[-25:],
                    min=float(round(least, digits)),
                    max=float(round(max(most, least + 1e-4), digits)),
                    step=10.0**-digits,
                    initial_value=float(np.clip(round(factors[entry] * float(state.q[entry]), digits), least, most)),
                    hint=f"{name}: {low:.4g} to {high:.4g} {unit}",
                )
                self._sliders.append(self._wired(slider, partial(self._moved, name), ("joint", name)))

    def _moved(self, name: str, value: float) -> None:
        self._studio.player.stop()
        robot = self._studio.state.robot
        entry = robot.joint_index(name)
        value /= _factors(robot)[entry]
        self._session.set_joint(name, float(np.clip(value, robot.lower[entry], robot.upper[entry])))

    def _hold(self, what: str, joint: str) -> None:
        if joint != NONE:
            self._session.hold(joint, what == "Hold")

    def _keep(self, name: str) -> None:
        kept = self._session.keep_configuration(name)
        offer(self._configuration, _options(self._studio.state))
        self._configuration.value = kept
        self._name.value = ""

    def _use(self, what: str, name: str) -> None:
        session = self._session
        if name == NONE:
            return
        of_robot = name.startswith(_STATE)
        if what == "Go to":
            robot = session.robot
            q = robot.clip(robot.state(name.removeprefix(_STATE))) if of_robot else session.configuration(name)
            session.set_configuration(q, f"go to {name}")
        elif not of_robot:
            session.drop_configuration(name)


def slider_range(robot: Robot, entry: int) -> tuple[float, float]:
    """The range of a joint's slider, in radians or metres: its limits, and some room where it has none."""
    low, high = float(robot.lower[entry]), float(robot.upper[entry])
    reach = np.pi if robot.turning[entry] else 2.0
    low = low if np.isfinite(low) else min(-reach, high - 2.0 * reach) if np.isfinite(high) else -reach
    return low, high if np.isfinite(high) else max(reach, low + 2.0 * reach)


def _factors(robot: Robot) -> np.ndarray:
    """From radians to the degrees that people read; metres stay."""
    return np.where(robot.turning, 180.0 / np.pi, 1.0)


def _options(state: State) -> tuple[str, ...]:
    return (*state.configurations, *(_STATE + name for name in state.robot.named_states))


def _shared_beginning(names: tuple[str, ...]) -> str:
    """What all names begin with, up to and with an underscore: it tells nothing."""
    first, last = min(names, default=""), max(names, default="")
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first[: first.rfind("_", 0, same) + 1]
