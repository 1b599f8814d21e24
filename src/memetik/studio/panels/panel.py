"""What a panel is made of: widgets, each wired to its action where it is made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

if TYPE_CHECKING:
    import viser

    from memetik.studio.app import Studio
    from memetik.studio.session.session import State

    Event = (
        viser.GuiEvent[Any]
        | viser.SceneNodePointerEvent[Any]
        | viser.SceneNodeDragEvent[Any]
        | viser.TransformControlsEvent
        | viser.CommandEvent
    )
    Field = viser.GuiInputHandle[Any] | viser.GuiButtonGroupHandle | viser.GuiUploadButtonHandle
    InputT = TypeVar("InputT", bound=viser.GuiInputHandle[Any])

NONE: str = "(none)"
"""Stands in lists where there is nothing to choose."""


class Panel:
    """One tab. A new one is a file here and a line in `PANELS` of `memetik.studio.app`."""

    TITLE: ClassVar[str]

    def __init__(self, studio: Studio):
        self._studio, self._session, self._gui = studio, studio.session, studio.server.gui
        self._build(studio.state)

    def _build(self, state: State) -> None:
        """Makes the widgets."""
        raise NotImplementedError

    def refresh(self, state: State, q: np.ndarray) -> None:
        """Brings texts and sliders up to date, a few times a second."""

    def use_robot(self, state: State) -> None:
        """Shows another robot."""

    def _button(
        self,
        label: str,
        icon: str | None,
        action: Callable[..., Any],
        *fields: Field,
        gray: bool = False,
        **options: Any,
    ) -> viser.GuiButtonHandle:
        """A button that runs an action with the values of fields."""
        button = self._gui.add_button(label, icon=icon, color="gray" if gray else None, **options)  # type: ignore[arg-type]
        self._studio.when(button.on_click, action, *fields)
        return button

    def _buttons(self, label: str, names: Sequence[str], action: Callable[..., Any], *fields: Field) -> None:
        """Buttons in a row: action(name of the one that was pressed, values of fields)."""
        group = self._gui.add_button_group(label, names)
        self._studio.when(group.on_click, action, group, *fields)

    def _wired(self, field: InputT, action: Callable[[Any], Any], key: Hashable = None) -> InputT:
        """The field; action(value) runs whenever a user sets it."""
        self._studio.when(field.on_update, action, field, key=key)
        return field


def offer(field: viser.GuiDropdownHandle[str], options: Sequence[str]) -> None:
    """The options of a dropdown, NONE where there are none; nothing is sent where they are the same."""
    options = tuple(options) or (NONE,)
    if tuple(field.options) != options:
        field.options = options
