"""Promises and how each was broken. A module has a list CASES of (name, check); a check returns whether the promise
holds and what was seen."""

import importlib
import pkgutil
from collections.abc import Callable

CASES: list[tuple[str, Callable[[], tuple[bool, str]]]] = []
for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
    CASES.extend(getattr(importlib.import_module(f"{__name__}.{module.name}"), "CASES", []))
