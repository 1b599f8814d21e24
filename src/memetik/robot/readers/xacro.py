"""xacro becomes URDF text, by xacrodoc.

xacro evaluates Python-like expressions and includes other files: load xacro files only from people you trust.
Descriptions of unknown origin belong in URDF, SRDF or MJCF, which are read without evaluating anything.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from memetik.errors import DescriptionError, MissingExtraError
from memetik.robot.readers.mesh_paths import MeshFinder, SearchPath

logger = logging.getLogger(__name__)

_one_at_a_time = threading.Lock()  # xacro keeps the files it is in, and xacrodoc its packages, in module variables


def expand_xacro(path: str, *, arguments: Mapping[str, Any] | None = None, search_path: SearchPath = ()) -> str:
    """The URDF text of a xacro file. `arguments` are the values of its <xacro:arg> elements.

    $(find package) looks for packages where `MeshFinder` does, then where xacrodoc does; a package found nowhere is
    taken to be the one that the file itself lies in, under another folder name, with a warning.
    """
    try:
        import xacro
        import xacrodoc  # noqa: F401  teaches xacro to find packages without ROS
    except ImportError:
        raise MissingExtraError("xacrodoc", "all", "reading xacro") from None
    mappings = {str(name): _as_text(value) for name, value in (arguments or {}).items()}
    path = os.path.abspath(path)
    with _one_at_a_time, _packages_found_by(MeshFinder(os.path.dirname(path), search_path), _package_of(path)):
        try:
            return xacro.process_file(path, mappings=mappings).toxml()  # type: ignore[union-attr]
        except Exception as error:  # xacro lets through whatever the file's expressions raise
            reason = " ".join(str(error).split()) or type(error).__name__
            raise DescriptionError(f"xacro file {path} cannot be expanded: {reason[:500]}.") from error
        finally:
            xacro.init_stacks(None)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _package_of(path: str) -> str:
    """The folder above `urdf`, `robots` or the like, in which descriptions lie in a package."""
    return os.path.dirname(os.path.dirname(path))


@contextmanager
def _packages_found_by(meshes: MeshFinder, own_package: str) -> Iterator[None]:
    from xacrodoc import packages

    class Finder(packages.PackageFinder):
        def get_path(self, pkg: str) -> str:
            roots = meshes.package_roots(pkg)
            if roots:
                return roots[0]
            try:
                return previous.get_path(pkg)
            except packages.PackageNotFoundError:
                logger.warning(
                    "package %r is not found; %s is taken for it. Give its place with search_path=.", pkg, own_package
                )
                return own_package

    previous = packages._finder
    packages._finder = Finder()
    try:
        yield
    finally:
        packages._finder = previous
