"""The tab with the joints: sliders, joints that are held, postures under names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.studio.files import NONE
from memetik.studio.setup import State

if TYPE_CHECKING:
    from memetik.studio.app import Studio

_STATE = "robot: "  # before the names of postures that the description brings


class JointsPanel:
    """A slider for each joint, always at the joint's value."""

    def __init__(self, studio: Studio):
        self._studio = studio
        gui = studio.server.gui
        with gui.add_folder("Postures"):
            self._name = gui.add_text("Name", "", hint="Left empty, a number is given.")
            self._keep = gui.add_button("Keep this posture", icon="bookmark")
            self._posture = gui.add_dropdown("Posture", self._options(studio.state))
            self._buttons = gui.add_button_group("Posture", ("Go to it", "Drop it"))
        self._sliders: list[Any] = []
        self._folders: list[Any] = []
        self._container = gui.add_folder("Joints")
        with gui.add_folder("Held joints", expand_by_default=False):
            self._joint = gui.add_dropdown("Joint", studio.state.robot.joint_names)
            self._hold = gui.add_button_group("Held", ("Hold", "Release"))
            self._held = gui.add_markdown("All joints are free.")
        self._wire()
        self._build(studio.state)

    def refresh(self, state: State, q: np.ndarray) -> None:
        for slider, value in zip(self._sliders, q.tolist(), strict=True):
            if abs(slider.value - value) > 5e-4:
                slider.value = min(max(round(value, 4), slider.min), slider.max)
        options = self._options(state)
        if tuple(self._posture.options) != options:
            self._posture.options = options
        held = ", ".join(sorted(state.held))
        self._held.content = f"Held: {held}" if held else "All joints are free."

    def use_robot(self, state: State) -> None:
        self._joint.options = state.robot.joint_names
        self._build(state)

    def _build(self, state: State) -> None:
        for slider in self._sliders:
            slider.remove()
        self._sliders = []
        robot = state.robot
        gui = self._studio.server.gui
        shared = _shared_beginning(robot.joint_names)
        with self._container:
            for entry, name in enumerate(robot.joint_names):
                low, high = float(robot.lower[entry]), float(robot.upper[entry])
                reach = np.pi if robot.turning[entry] else 2.0
                low = low if np.isfinite(low) else min(-reach, high - 2.0 * reach) if np.isfinite(high) else -reach
                high = high if np.isfinite(high) else max(reach, low + 2.0 * reach)
                value = float(np.clip(round(float(state.q[entry]), 4), low, high))
                unit = "rad" if robot.turning[entry] else "m"
                slider = gui.add_slider(
                    _label(name.removeprefix(shared)),
                    min=low,
                    max=max(high, low + 1e-4),
                    step=max((high - low) / 2000.0, 1e-4),
                    initial_value=value,
                    hint=f"{name}: {low:.3g} to {high:.3g} {unit}",
                )
                self._sliders.append(slider)
                self._wire_slider(slider, name)

    def _wire_slider(self, slider: Any, name: str) -> None:
        @slider.on_update
        async def _(event: Any) -> None:
            value = float(slider.value)
            self._studio.do(event, lambda: self._moved(name, value), ("joint", name))

    def _moved(self, name: str, value: float) -> None:
        studio = self._studio
        studio.player.stop()
        entry = studio.state.robot.joint_index(name)
        low, high = studio.state.robot.lower[entry], studio.state.robot.upper[entry]
        studio.setup.set_joint(name, float(np.clip(value, low, high)))

    def _wire(self) -> None:
        studio, setup = self._studio, self._studio.setup

        @self._keep.on_click
        async def _(event: Any) -> None:
            name = self._name.value
            studio.do(event, lambda: self._kept(setup.keep_posture(name)))

        @self._buttons.on_click
        async def _(event: Any) -> None:
            name, go = self._posture.value, self._buttons.value == "Go to it"
            studio.do(event, lambda: self._use(name, go))

        @self._hold.on_click
        async def _(event: Any) -> None:
            joint, held = self._joint.value, self._hold.value == "Hold"
            studio.do(event, lambda: setup.hold(joint, held))

    def _kept(self, name: str) -> None:
        self._posture.options = self._options(self._studio.state)
        self._posture.value = name
        self._name.value = ""

    def _use(self, name: str, go: bool) -> None:
        setup = self._studio.setup
        if name == NONE:
            return
        if name.startswith(_STATE):
            if go:
                setup.set_posture(setup.robot.clip(setup.robot.state(name.removeprefix(_STATE))), f"go to {name}")
        elif go:
            setup.set_posture(setup.posture(name), f"go to {name}")
        else:
            setup.drop_posture(name)

    def _options(self, state: State) -> tuple[str, ...]:
        return (*state.postures, *(_STATE + name for name in state.robot.named_states)) or (NONE,)


def _shared_beginning(names: tuple[str, ...]) -> str:
    """What all names begin with, up to and with an underscore: it tells nothing."""
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    start = first[:same]
    return start[: start.rfind("_") + 1]


def _label(name: str) -> str:
    """A joint's name, its end kept where it is long."""
    return name if len(name) <= 22 else "…" + name[-21:]
