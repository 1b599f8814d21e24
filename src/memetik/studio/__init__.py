"""The studio: pose, inspect and teach robots in a browser.

`session` is the model, plain Python that knows of no browser, and keeps its configuration solved; `app`, the views and
the panels show it through viser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from memetik._moved import old_name

if TYPE_CHECKING:
    from memetik.studio.app import Studio
    from memetik.studio.session.session import Session

__all__ = ["Session", "Studio"]


_HOMES = {"Session": "memetik.studio.session.session", "Studio": "memetik.studio.app"}


def __getattr__(name: str) -> object:
    return getattr(import_module(_HOMES[name]), name) if name in _HOMES else old_name(__name__, name)
