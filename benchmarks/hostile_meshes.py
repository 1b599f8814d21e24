"""Broken and hostile mesh, point and scene files: each is read, or refused with a sentence, in bounded time and memory.

    python benchmarks/hostile_meshes.py [count]

Starts from small valid files of every format and damages them: bytes flipped, cut, doubled, zeroed, numbers replaced by
extreme ones, counts in headers blown up, lines moved, references led elsewhere. Prints the counts.
"""

from __future__ import annotations

import json
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from memetik.bench.scenarios.surroundings import barrel
from memetik.collision.bodies import body_geometry
from memetik.errors import MemetikError
from memetik.geometry.formats.ply import write_ply
from memetik.geometry.mesh_files import load_mesh, load_points
from memetik.geometry.shapes import TriangleMesh
from memetik.scene.scene import Scene

EXTREME = [
    *("nan", "inf", "-inf", "1e400", "-1", "0", "4294967295", "-2147483648", "99999999999999999999", "1e-320", "1e30"),
    *(
        "0x10",
        "",
        "#",
        "../../etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1:9/x",
        "\x00",
        "[[[[",
        '"',
        "1e",
        "--5",
    ),
]


def seeds() -> dict[str, bytes]:
    """Valid files by name."""
    mesh = barrel(count=1).scene["barrel"].shape
    assert isinstance(mesh, TriangleMesh)
    corners = mesh.triangles.astype("<f4")
    records = b"".join(struct.pack("<3f", 0, 0, 1) + corner.tobytes() + b"\0\0" for corner in corners)
    facets = "".join(
        "facet normal 0 0 1\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*p) for p in corner)
        + "endloop\nendfacet\n"
        for corner in corners
    )
    vertex_lines = "".join("v {} {} {}\n".format(*p) for p in mesh.vertices)
    face_lines = "".join("f {} {} {}\n".format(*(f + 1)) for f in mesh.faces)
    polygon = (
        "ply\nformat ascii 1.0\ncomment x\nelement vertex 5\nproperty float x\nproperty float y\nproperty double z\n"
        "element face 2\nproperty list uchar int vertex_indices\nelement edge 1\nproperty int a\nend_header\n"
        "0 0 0\n1 0 0\n0.2 0.2 0\n0 1 0\n0 0 1\n4 0 1 2 3\n3 0 1 4\n7\n"
    )
    return {
        "a.stl": b"x" * 80 + struct.pack("<I", len(corners)) + records,
        "b.stl": f"solid a\n{facets}endsolid a\n".encode(),
        "a.obj": (f"mtllib a.mtl\n{vertex_lines}{face_lines}").encode(),
        "a.ply": write_ply(mesh.vertices, mesh.faces),
        "b.ply": polygon.encode(),
        "c.ply": _mixed_ply(mesh),
        "a.dae": _collada(mesh).encode(),
        "a.gltf": json.dumps(_gltf(mesh)[0]).encode(),
        "a.glb": _glb(mesh),
        "a.pcd": _pcd(mesh, "ascii"),
        "b.pcd": _pcd(mesh, "binary"),
        "c.pcd": _pcd(mesh, "binary_compressed"),
        "a.toml": _TOML.encode(),
        "a.scene": _SCENE.encode(),
    }


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four defects."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not data:
            break
        at, kind = rng.randrange(len(data)), rng.randrange(11)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif kind == 2:
            data = data[:at] + rng.randbytes(rng.randint(1, 16)) + data[at + rng.randint(0, 16) :]
        elif kind == 3:
            end = min(len(data), at + rng.randint(1, 200))
            data = data[:end] + data[at:end] * rng.randint(1, 3) + data[end:]
        elif kind == 4:
            end = min(len(data), at + rng.randint(1, 400))
            data = data[:at] + b"\0" * (end - at) + data[end:]
        elif kind in (5, 6, 9, 10):
            data = _replaced_word(data, rng)
        elif kind == 7:
            lines = data.split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            data = b"\n".join(lines)
        else:
            data = data[:at] + struct.pack("<I", rng.choice([0, 2**31, 2**32 - 1, 2**24])) + data[at + 4 :]
    return data


def attempt(path: Path) -> str:
    """Read a file and use what it holds: "read", or the name of the error; other exceptions come through."""
    try:
        if path.suffix in (".toml", ".scene"):
            for item in Scene.load(path):
                body_geometry(item.shape, item.solid)
        elif path.suffix == ".pcd":
            assert np.isfinite(load_points(path)).all()
        else:
            mesh = load_mesh(path)
            assert np.isfinite(mesh.vertices).all()
            body_geometry(mesh)
    except MemetikError as error:
        if len(str(error)) < 15:
            raise AssertionError(f"not a sentence: {error}") from error
        return type(error).__name__
    return "read"


def run(count: int, seed: int = 0) -> tuple[Counter[tuple[str, str]], float]:
    """Attempt `count` damaged files; counts by format and outcome, and the longest time of one."""
    rng = random.Random(seed)
    originals = seeds()
    outcomes: Counter[tuple[str, str]] = Counter()
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, data in originals.items():
            (Path(folder) / name).write_bytes(data)
            if (outcome := attempt(Path(folder) / name)) != "read":
                raise AssertionError(f"the valid file {name} was refused: {outcome}")
        for index in range(count):
            name = list(originals)[index % len(originals)]
            path = Path(folder) / f"x{index % 50}{Path(name).suffix}"
            path.write_bytes(damaged(originals[name], rng))
            start = time.perf_counter()
            outcomes[Path(name).suffix, attempt(path)] += 1
            longest = max(longest, time.perf_counter() - start)
            path.unlink()
    return outcomes, longest


def main() -> None:
    """Print the counts."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    start = time.perf_counter()
    outcomes, longest = run(count)
    formats = sorted({form for form, _ in outcomes})
    kinds = sorted({kind for _, kind in outcomes})
    print("format  " + "".join(f"{kind:>20}" for kind in kinds))
    for form in formats:
        print(f"{form:8}" + "".join(f"{outcomes[form, kind]:20}" for kind in kinds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{sum(outcomes.values())} files in {time.perf_counter() - start:.0f} s, all read or refused by a typed error, "
        f"longest {longest:.2f} s, peak memory {peak:.0f} MB"
    )


def _replaced_word(data: bytes, rng: random.Random) -> bytes:
    words = data.split(b" ")
    if len(words) < 2:
        return data
    words[rng.randrange(len(words))] = rng.choice(EXTREME).encode()
    return b" ".join(words)


def _mixed_ply(mesh: TriangleMesh) -> bytes:
    header = (
        "ply\nformat binary_big_endian 1.0\n"
        f"element vertex {len(mesh.vertices)}\nproperty float x\nproperty float y\nproperty float z\nproperty uchar q\n"
        f"element face {len(mesh.faces) + 1}\nproperty list ushort uint vertex_index\nproperty list uchar float uv\n"
        "end_header\n"
    )
    body = b"".join(struct.pack(">3fB", *point, 1) for point in mesh.vertices)
    body += b"".join(struct.pack(">H3IBf", 3, *face, 1, 0.5) for face in mesh.faces.tolist())
    return header.encode() + body + struct.pack(">H4IB", 4, 0, 1, 2, 3, 0)


def _collada(mesh: TriangleMesh) -> str:
    numbers = " ".join(str(v) for v in mesh.vertices.ravel())
    indices = " ".join(str(v) for v in mesh.faces.ravel())
    return (
        '<?xml version="1.0"?>\n<COLLADA version="1.4.1">\n<asset><unit meter="1.0"/></asset>\n<library_geometries>'
        f'<geometry id="g"><mesh>\n<source id="p"><float_array id="pa" count="9">{numbers}</float_array>'
        '<technique_common><accessor source="#pa" stride="3"/></technique_common></source>\n<vertices id="v">'
        '<input semantic="POSITION" source="#p"/></vertices>\n<triangles>'
        '<input semantic="VERTEX" source="#v" offset="0"/>'
        f"<p>{indices}</p></triangles>\n</mesh></geometry></library_geometries>\n<library_visual_scenes>"
        '<visual_scene id="s"><node id="n"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>'
        '<instance_geometry url="#g"/></node>\n</visual_scene></library_visual_scenes>\n'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def _gltf(mesh: TriangleMesh) -> tuple[dict, bytes]:
    import base64

    vertices, faces = mesh.vertices.astype("<f4").tobytes(), mesh.faces.astype("<u4").tobytes()
    binary = vertices + faces
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(mesh.vertices), "type": "VEC3"},
            {"bufferView": 1, "componentType": 5125, "count": mesh.faces.size, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": len(vertices)},
            {"buffer": 0, "byteOffset": len(vertices), "byteLength": len(faces)},
        ],
        "buffers": [{"byteLength": len(binary), "uri": "data:;base64," + base64.b64encode(binary).decode()}],
    }
    return document, binary


def _glb(mesh: TriangleMesh) -> bytes:
    document, binary = _gltf(mesh)
    del document["buffers"][0]["uri"]
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _pcd(mesh: TriangleMesh, kind: str) -> bytes:
    points = mesh.vertices.astype("<f4")
    header = (
        f"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {len(points)}\nHEIGHT 1\n"
        f"POINTS {len(points)}\nDATA {kind}\n"
    ).encode()
    if kind == "ascii":
        return header + "\n".join(" ".join(str(v) for v in point) for point in points).encode()
    if kind == "binary":
        return header + points.tobytes()
    plain = points.T.tobytes()
    packed = b"".join(bytes([len(plain[k : k + 32]) - 1]) + plain[k : k + 32] for k in range(0, len(plain), 32))
    return header + struct.pack("<II", len(packed), len(plain)) + packed


_TOML = """schema = 1
allowed = [ [ "hand", "wall" ] ]
[[object]]
name = "wall"
shape = "box"
size = [ 0.6, 0.1, 0.2 ]
position = [ 0.6, 0.2, 0.1 ]
rpy = [ 0.1, 0.2, 0.3 ]
padding = 0.01
[[object]]
name = "ground"
shape = "heightmap"
heights = [ [ 0.0, 0.1, 0.2 ], [ 0.1, 0.3, 0.1 ] ]
size = [ 1.0, 2.0 ]
[[object]]
name = "barrel"
shape = "mesh"
file = "a.stl"
scale = 0.5
solid = true
[[object]]
name = "cloud"
shape = "points"
file = "a.pcd"
radius = 0.01
[[object]]
name = "cells"
shape = "voxels"
occupied = [ [ [ true, false ], [ true, true ] ] ]
size = 0.1
[[object]]
name = "tool"
shape = "cylinder"
radius = 0.05
length = 0.2
link = "hand"
touch = [ "wrist" ]
color = [ 1.0, 0.5, 0.0, 1.0 ]
"""

_SCENE = """(noname)
* table
0.5 0 0.4
0 0 0 1
2
box
1.5 0.8 0.03
0 0 0
0 0 0 1
0 0 0 0
cylinder
0.05 0.2
0.1 0.2 0.3
0 0 0.7071 0.7071
1 0 0 1
0
* ramp
0 0 0
0 0 0 1
1
mesh
4 4
0 0 0
1 0 0
0 1 0
0 0 1
0 2 1
0 1 3
1 2 3
0 3 2
0 0 0
0 0 0 1
0.5 0.5 0.5 1
1
grip
0 0 0.1
0 0 0 1
.
"""


if __name__ == "__main__":
    main()
