"""The triangles of mesh files, in metres and in the file's own axes.

Collada states its unit, and readers of robot descriptions honour it; the other formats have none and count as metres.
"""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from typing import Any

import numpy as np

from memetik.errors import GeometryError

_COLLADA_LOOKS = ("bind_material", "library_materials", "library_effects", "library_images")
_MAX_BYTES = 300_000_000


@lru_cache(maxsize=256)
def read_triangles(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of a mesh file; a GeometryError where it cannot be read or is empty."""
    readers = {".ply": _read_ply, ".dae": _read_collada}
    # trimesh and the readers behind it log what they also raise.
    previous = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        if os.path.getsize(path) > _MAX_BYTES:
            raise GeometryError(f"mesh {path} has more than {_MAX_BYTES} bytes.")
        vertices, faces = readers.get(os.path.splitext(path)[1].lower(), _read_any)(path)
    except GeometryError:
        raise
    except Exception as error:  # trimesh's readers raise whatever their parsers do
        raise GeometryError(f"mesh {path} cannot be read: {' '.join(str(error).split())[:200]}.") from error
    finally:
        logging.disable(previous)
    if len(vertices) == 0 or len(faces) == 0:
        raise GeometryError(f"mesh {path} has no triangles.")
    if not np.isfinite(vertices).all():
        raise GeometryError(f"mesh {path} has vertices that are not finite.")
    return vertices, faces


def _read_any(path: str) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    loaded: Any = trimesh.load(path, force="mesh", process=False, skip_materials=True)
    return np.asarray(loaded.vertices, dtype=float), np.asarray(loaded.faces, dtype=np.int64)


def _read_collada(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Without materials: trimesh leaves out shapes whose texture is missing, as it often is."""
    import io
    from xml.etree import ElementTree

    import trimesh

    root = ElementTree.parse(path).getroot()
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag.rpartition("}")[2] in _COLLADA_LOOKS]:
            parent.remove(child)
        if parent.tag.rpartition("}")[2] in ("triangles", "polylist", "polygons"):
            parent.attrib.pop("material", None)
    unit = next((e for e in root.iter() if e.tag.rpartition("}")[2] == "unit"), None)
    scale = float(unit.get("meter", "1")) if unit is not None else 1.0
    stripped = io.BytesIO(ElementTree.tostring(root))
    loaded: Any = trimesh.load(stripped, file_type="dae", force="mesh", process=False)
    return np.asarray(loaded.vertices, dtype=float) * scale, np.asarray(loaded.faces, dtype=np.int64)


def _read_ply(path: str) -> tuple[np.ndarray, np.ndarray]:
    """By plyfile: trimesh fails on binary files with polygons of mixed sizes."""
    from plyfile import PlyData

    data = PlyData.read(path)
    vertex = data["vertex"]
    vertices = np.stack([np.asarray(vertex[axis], dtype=float) for axis in "xyz"], axis=1)
    face = data["face"]
    name = next(p.name for p in face.properties if p.name in ("vertex_indices", "vertex_index"))
    fans = [np.asarray(polygon)[[0, k, k + 1]] for polygon in face[name] for k in range(1, len(polygon) - 1)]
    return vertices, np.array(fans, dtype=np.int64).reshape(-1, 3)
