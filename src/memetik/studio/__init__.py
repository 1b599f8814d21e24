"""The studio: pose, inspect and teach robots in a browser.

`setup` is the model, plain Python that knows of no browser; `solving` keeps its posture solved; `app` and the panels
show both through viser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memetik.studio.app import Studio
    from memetik.studio.setup import SetUp

__all__ = ["SetUp", "Studio"]


def __getattr__(name: str) -> Any:
    if name == "SetUp":
        from memetik.studio.setup import SetUp

        return SetUp
    if name == "Studio":
        from memetik.studio.app import Studio

        return Studio
    raise AttributeError(f"module 'memetik.studio' has no attribute {name!r}")
