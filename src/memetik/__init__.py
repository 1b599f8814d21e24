"""memetik finds configurations of robots: goals on any links of any kinematic tree, in any scene.

The public names are those that `__init__.pyi` imports. Each is loaded when it is first used, so that `import memetik`
costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from memetik import errors
from memetik._moved import install, old_name

__version__ = "0.2.0"


def _read_stub() -> dict[str, str]:
    """{public name: the module it is in}, from the stub's lines `from module import name as name`."""
    with open(f"{__file__}i", encoding="utf-8") as stub:  # beside this file, also in an editable install
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in lines}


_MODULE_OF = _read_stub()
__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        try:
            return old_name(__name__, name)
        except AttributeError:
            message = f"module 'memetik' has no attribute {name!r}; {errors.suggest(name, __all__)}"
            raise AttributeError(message) from None
    home = _MODULE_OF[name]
    value = None if home == __name__ else getattr(import_module(home), name, None)
    if value is None:
        value = import_module(f"{home}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Importing a subpackage binds its name here; where a public function has that name, the function wins."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (_MODULE_OF.get(name, __name__) != __name__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
install()
