"""Mesh and point files: what trimesh and plyfile write is read back, what is broken is refused."""

import base64
import json
import struct
from pathlib import Path

import numpy as np
import plyfile
import pytest
import trimesh

from memetik.errors import GeometryError
from memetik.geometry.formats.ply import write_ply
from memetik.geometry.mesh_files import load_mesh, load_points, read_mesh
from memetik.geometry.shapes import Mesh


@pytest.fixture
def bracket() -> trimesh.Trimesh:
    """A solid that is not convex, of no symmetry."""
    first = trimesh.creation.box((0.3, 0.1, 0.05))
    second = trimesh.creation.cylinder(0.04, 0.2, sections=24)
    second.apply_transform(trimesh.transformations.rotation_matrix(0.4, (1, 2, 3), (0.1, 0.2, 0)))
    second.apply_translation((1.0, 0.5, 0.2))
    return trimesh.util.concatenate([first, second])


@pytest.mark.parametrize("ending", ["stl", "stl_ascii", "obj", "ply", "glb", "dae"])
def test_what_trimesh_writes_is_read_back(tmp_path, bracket, ending):
    path = tmp_path / f"bracket.{ending.removesuffix('_ascii')}"
    exported = bracket.export(file_type=ending)
    path.write_bytes(exported.encode() if isinstance(exported, str) else exported)
    mesh, report = read_mesh(path)
    assert np.allclose(mesh.bounds, bracket.bounds, atol=1e-6)
    assert mesh.area == pytest.approx(bracket.area, rel=1e-5)
    assert mesh.volume == pytest.approx(bracket.volume, rel=1e-5)
    assert len(mesh.vertices) == len(bracket.vertices)
    assert report.faces == len(bracket.faces)
    assert report.format == ending.removesuffix("_ascii")


RING_AND_SQUARES = (
    np.array(
        [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0.5, 0, 0], [0, 0.5, 0], [-0.5, 0, 0], [0, -0.5, 0], [3, 3, 3]],
        dtype=float,
    ),
    [[0, 1, 2, 3, 0, 4, 7, 6, 5, 4], [0, 1, 8], [1, 2, 8], [2, 3, 8], [4, 5, 6, 7]],
)


def write_mixed_ply(path: Path, text: bool = False, order: str = "<") -> None:
    """As Blender writes it: faces of mixed sizes, more properties, and edges, before and after."""
    points, polygons = RING_AND_SQUARES
    kinds = [("x", "f4"), ("y", "f4"), ("z", "f4"), ("quality", "u1")]
    vertices = np.array([(*point, 7) for point in points], dtype=kinds)
    edges = np.array([(0, 1), (1, 2)], dtype=[("vertex1", "i4"), ("vertex2", "i4")])
    faces = np.empty(len(polygons), dtype=[("flags", "u1"), ("vertex_indices", "O"), ("weight", "f8")])
    for index, polygon in enumerate(polygons):
        faces[index] = (index, np.array(polygon, dtype="i4"), 0.5 * index)
    elements = [
        plyfile.PlyElement.describe(edges, "edge"),
        plyfile.PlyElement.describe(vertices, "vertex"),
        plyfile.PlyElement.describe(faces, "face"),
        plyfile.PlyElement.describe(edges, "more_edges"),
    ]
    plyfile.PlyData(elements, text=text, byte_order=order, comments=["by hand"]).write(str(path))


@pytest.mark.parametrize(("text", "order"), [(True, "<"), (False, "<"), (False, ">")])
def test_ply_of_mixed_polygons_with_edges_is_read_in_every_encoding(tmp_path, text, order):
    write_mixed_ply(tmp_path / "mixed.ply", text, order)
    mesh, report = read_mesh(tmp_path / "mixed.ply")
    # A square ring of area 2 - 0.5, the square that closes it, and three triangles up to a corner.
    points, polygons = RING_AND_SQUARES
    corners = np.array([[points[k] for k in polygon] for polygon in polygons[1:4]])
    sides = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    assert mesh.area == pytest.approx(1.5 + 0.5 + sides, rel=1e-6)
    assert report.polygons == 5
    assert report.faces == 8 + 3 + 2
    assert report.irregular_polygons == 0


def test_the_ring_of_a_barrel_is_not_closed_by_a_lid(tmp_path):
    """trimesh cannot read such a binary file, and a fan would cover the hole."""
    points, polygons = RING_AND_SQUARES
    vertices = np.array([tuple(point) for point in points], dtype=[("x", "f4"), ("y", "f4"), ("z", "f4")])
    faces = np.empty(2, dtype=[("vertex_indices", "O")])
    faces[0], faces[1] = (np.array(polygons[0], dtype="i4"),), (np.array(polygons[1], dtype="i4"),)
    described = [plyfile.PlyElement.describe(vertices, "vertex"), plyfile.PlyElement.describe(faces, "face")]
    plyfile.PlyData(described).write(str(tmp_path / "ring.ply"))
    mesh = load_mesh(tmp_path / "ring.ply")
    flat = mesh.triangles[(mesh.triangles[:, :, 2] == 0.0).all(axis=1)]
    middles = flat.mean(axis=1)
    assert (np.abs(middles[:, 0]) + np.abs(middles[:, 1]) > 0.5).all()


def test_strips_of_a_ply_become_triangles_of_one_winding(tmp_path):
    text = (
        "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
        "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
        "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 2 0\n8 0 1 2 3 -1 2 3 4\n"
    )
    (tmp_path / "strip.ply").write_text(text)
    mesh = load_mesh(tmp_path / "strip.ply")
    normals = np.cross(*(mesh.triangles[:, k] - mesh.triangles[:, 0] for k in (1, 2)))
    assert len(mesh.faces) == 3
    assert (normals[:, 2] > 0.0).all()


def test_obj_has_negative_indices_polygons_and_a_material_that_is_not_opened(tmp_path):
    (tmp_path / "quad.obj").write_text(
        "mtllib /etc/hostname\n# a quad\nv 0 0 0\nv 1 0 0 1.0\nv 1 1 0\nv 0 1 0\nvt 0 0\nusemtl x\n"
        "f -4/1 -3/1 \\\n -2 -1\nl 1 2\n"
    )
    mesh, report = read_mesh(tmp_path / "quad.obj")
    assert mesh.area == pytest.approx(1.0)
    assert report.polygons == 1
    assert report.faces == 2


COLLADA = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01" name="centimeter"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 100 0 0 100 100 0 0 100 0</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#v" offset="1"/>
<vcount>4</vcount><p>0 9 1 9 2 9 3 9</p></polylist></mesh></geometry></library_geometries>
<library_nodes><node id="n"><translate>0 0 100</translate><instance_geometry url="{geometry}"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s"><node><rotate>0 0 1 90</rotate><scale>2 2 2</scale>
<instance_node url="#n"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.mark.parametrize("up", ["Z_UP", "Y_UP"])
def test_collada_applies_units_and_nodes_but_not_the_up_axis(tmp_path, up):
    (tmp_path / "a.dae").write_text(COLLADA.format(up=up, geometry="#g"))
    mesh = load_mesh(tmp_path / "a.dae")
    assert np.allclose(mesh.bounds, [[-2, 0, 2], [0, 2, 2]])
    assert mesh.area == pytest.approx(4.0)


@pytest.mark.parametrize("reference", ["other.dae#g", "file:///etc/passwd#g", "http://127.0.0.1:9/x#g", "#missing", ""])
def test_collada_does_not_follow_references_out_of_itself(tmp_path, reference):
    (tmp_path / "a.dae").write_text(COLLADA.format(up="Z_UP", geometry=reference))
    with pytest.raises(GeometryError, match="refers to"):
        load_mesh(tmp_path / "a.dae")


def test_collada_nodes_within_themselves_end(tmp_path):
    text = COLLADA.format(up="Z_UP", geometry="#g").replace(
        "</node></library_nodes>", '<instance_node url="#n"/></node></library_nodes>'
    )
    (tmp_path / "a.dae").write_text(text)
    with pytest.raises(GeometryError, match="within themselves"):
        load_mesh(tmp_path / "a.dae")


def test_entities_are_refused(tmp_path):
    (tmp_path / "a.dae").write_text(
        '<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;&b;">]><COLLADA>&c;</COLLADA>'
    )
    with pytest.raises(GeometryError, match="document type or entities"):
        load_mesh(tmp_path / "a.dae")


def gltf_document(uri: str | None, size: int = 36 + 6) -> dict:
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"children": [1], "translation": [1, 2, 3]},
            {"mesh": 0, "rotation": [0, 0, 1, 0], "scale": [2, 2, 2]},
        ],
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}, {"mode": 1, "attributes": {"POSITION": 0}}]}
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "buffers": [{"byteLength": size, **({"uri": uri} if uri is not None else {})}],
    }


GLTF_BYTES = (
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4").tobytes() + np.array([0, 1, 2], dtype="<u2").tobytes()
)


@pytest.mark.parametrize("where", ["inside", "beside"])
def test_gltf_places_nodes_and_reads_buffers_inside_or_beside(tmp_path, where):
    (tmp_path / "buf fer.bin").write_bytes(GLTF_BYTES)
    inside = "data:application/octet-stream;base64," + base64.b64encode(GLTF_BYTES).decode()
    document = gltf_document(inside if where == "inside" else "buf%20fer.bin")
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    mesh = load_mesh(tmp_path / "a.gltf")
    # Half a turn about z, twice the size, then moved.
    assert np.allclose(mesh.bounds, [[-1, 0, 3], [1, 2, 3]])
    assert mesh.area == pytest.approx(2.0)


@pytest.mark.parametrize(
    "uri", ["../secret.bin", "/etc/hostname", "http://127.0.0.1:9/a.bin", "file:///etc/hostname", "a\0b", "missing.bin"]
)
def test_gltf_never_reads_outside_its_folder(tmp_path, uri):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(GLTF_BYTES)
    (folder / "a.gltf").write_text(json.dumps(gltf_document(uri)))
    with pytest.raises(GeometryError, match="refers to"):
        load_mesh(folder / "a.gltf")


def test_gltf_does_not_follow_a_link_out_of_its_folder(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(GLTF_BYTES)
    (folder / "buffer.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "a.gltf").write_text(json.dumps(gltf_document("buffer.bin")))
    with pytest.raises(GeometryError, match="not in its own folder"):
        load_mesh(folder / "a.gltf")


def test_double_vertices_are_merged_and_degenerate_faces_dropped(tmp_path):
    box = trimesh.creation.box((1, 1, 1))
    vertices = np.concatenate([box.triangles.reshape(-1, 3), [[0, 0, 0], [5, 5, 5], [6, 6, 6], [np.nan] * 3]])
    faces = np.concatenate([np.arange(36).reshape(-1, 3), [[0, 0, 1], [36, 37, 38]]])
    (tmp_path / "soup.ply").write_bytes(write_ply(vertices, faces))
    mesh, report = read_mesh(tmp_path / "soup.ply")
    assert len(mesh.vertices) == 8
    assert len(mesh.faces) == 12
    assert report.dropped_faces == 2
    assert report.merged_vertices == 40 - 8
    assert mesh.volume == pytest.approx(1.0)


def test_a_file_is_read_again_only_when_it_changed(tmp_path, bracket):
    path = tmp_path / "a.stl"
    bracket.export(path)
    first = load_mesh(path)
    assert load_mesh(path) is first
    assert load_mesh(path, scale=2.0).bounds == pytest.approx(2.0 * first.bounds)
    trimesh.creation.box((1, 1, 1)).export(path)
    assert load_mesh(path).volume == pytest.approx(1.0)


def test_a_mesh_of_a_robot_is_scaled_and_a_missing_one_named(tmp_path, bracket):
    bracket.export(tmp_path / "a.stl")
    mesh = load_mesh(Mesh("package://x/a.stl", str(tmp_path / "a.stl"), (0.001, 0.001, 0.001)))
    assert mesh.volume == pytest.approx(bracket.volume * 1e-9, rel=1e-4)
    with pytest.raises(GeometryError, match=r"package://x/a\.stl"):
        load_mesh(Mesh("package://x/a.stl"))


def binary_stl(count: int, payload: bytes) -> bytes:
    return b"solid made by no one".ljust(80) + struct.pack("<I", count) + payload


HEADER = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n"
)
LISTS = b"element face %d\nproperty list %s int vertex_indices\nend_header\n"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.stl", b"", "empty"),
        ("a.stl", b"\0" * 500, "empty"),
        ("a.stl", b"solid", "no STL"),
        ("a.stl", binary_stl(1000, b"\1" * 50), "cut short"),
        ("a.stl", binary_stl(4_000_000_000, b"\1" * 50), "cut short"),
        ("a.stl", binary_stl(0, b""), "no faces"),
        ("a.stl", binary_stl(1, struct.pack("<12fH", *[0.0] * 3, *[np.nan] * 9, 0)), "not finite"),
        ("a.stl", b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n", "cut short"),
        ("a.stl", b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 x\nendfacet\nendsolid", "number"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "vertex 3"),
        ("a.obj", b"v 0 0 0\nf 1 2 -9\n", "does not exist"),
        ("a.obj", b"v 0 0 0\nf 0 1 1\n", "count from 1"),
        ("a.obj", b"v 0 0\n", "2 coordinates"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1e400 0\nf 1 2 3\n", "not finite"),
        ("a.obj", b"v 0 0 0\nf 1 2 99999999999999999999\n", "does not exist"),
        ("a.obj", b"v 0 0 0\nv 1 1 1\nv 2 2 2\nf 1 2 3\n", "none of which has an area"),
        ("a.ply", b"plx", "no PLY"),
        ("a.ply", HEADER % 3 + b"end_header\n" + b"\0" * 30, "cut short"),
        ("a.ply", HEADER % 10**12 + b"end_header\n", "at most"),
        ("a.ply", HEADER % 0 + LISTS % (2, b"uchar") + b"\xff\0\0\0", "more than the file holds"),
        ("a.ply", HEADER % 0 + LISTS % (2, b"int") + b"\xff\xff\xff\xff" + b"\0" * 30, "list of -1"),
        ("a.ply", HEADER % 1 + LISTS % (1, b"uchar") + b"\0" * 12 + b"\3" + struct.pack("<3i", 0, 0, 77), "vertex 77"),
        (
            "a.ply",
            b"ply\nformat ascii 1.0\nelement vertex 1\nproperty list float int x\nend_header\n",
            "not understood",
        ),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nend_header\n1 2", "no vertices"),
        ("a.ply", b"ply\nelement vertex 2\nproperty float x\nend_header\n1 2", "format"),
        ("a.dae", b"<COLLADA", "well-formed"),
        ("a.dae", b"<a/>", "no COLLADA"),
        ("a.dae", b"<COLLADA/>", "no faces"),
        ("a.dae", b"<COLLADA>" + b"<a>" * 500 + b"</a>" * 500 + b"</COLLADA>", "nests"),
        ("a.glb", b"glTF" + struct.pack("<II", 2, 100) + struct.pack("<I", 2**31) + b"JSON{}", "cut short"),
        ("a.glb", b"glTF" + struct.pack("<II", 1, 100) + b"\0" * 40, "glTF 2.0"),
        ("a.gltf", b"[" * 100_000, "JSON"),
        ("a.gltf", b"[]", "no object"),
        ("a.gltf", b'{"scenes":[{"nodes":[0]}],"nodes":[{"children":[0]}]}', "within themselves"),
        ("a.gltf", b'{"scenes":[{"nodes":[5]}]}', "entry 5"),
        ("a.gltf", b'{"scenes":7}', "no list"),
        ("a.xyz", b"1 2 3", "endings"),
    ],
)
def test_broken_files_are_refused_with_a_sentence(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(GeometryError, match=says) as caught:
        load_mesh(tmp_path / name)
    assert str(caught.value).endswith(".") or str(caught.value).endswith("?")


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "folder.stl").mkdir()
    for path in (tmp_path / "folder.stl", tmp_path / "missing.stl", "a\0b.stl"):
        with pytest.raises(GeometryError):
            load_mesh(path)


@pytest.mark.parametrize(
    "change", [{"count": 10**9}, {"byteOffset": -4}, {"componentType": 1}, {"type": "MAT4"}, {"count": 2.5}]
)
def test_gltf_accessors_are_checked_against_their_buffers(tmp_path, change):
    document = gltf_document("b.bin")
    (tmp_path / "b.bin").write_bytes(GLTF_BYTES)
    document["accessors"][0].update(change)
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    with pytest.raises(GeometryError):
        load_mesh(tmp_path / "a.gltf")


def lzf_literals(data: bytes) -> bytes:
    """The plainest valid LZF: runs of at most 32 bytes as they are."""
    return b"".join(bytes([len(data[k : k + 32]) - 1]) + data[k : k + 32] for k in range(0, len(data), 32))


PCD = (
    "# .PCD v0.7\nVERSION 0.7\nFIELDS {fields}\nSIZE {sizes}\nTYPE {types}\nCOUNT {counts}\n"
    "WIDTH 3\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA {data}\n"
)
PCD_POINTS = np.array([[1, 2, 3], [4, 5, 6], [7, 8, np.nan]], dtype="<f4")


@pytest.mark.parametrize("kind", ["ascii", "binary", "binary_compressed"])
def test_point_clouds_in_every_kind_of_pcd(tmp_path, kind):
    header = PCD.format(fields="rgb x y z", sizes="4 4 4 4", types="U F F F", counts="2 1 1 1", data=kind).encode()
    colors = np.array([[1, 2], [3, 4], [5, 6]], dtype="<u4")
    if kind == "ascii":
        body = "\n".join(f"{a} {b} {x} {y} {z}" for (a, b), (x, y, z) in zip(colors, PCD_POINTS, strict=True)).encode()
    elif kind == "binary":
        body = b"".join(c.tobytes() + p.tobytes() for c, p in zip(colors, PCD_POINTS, strict=True))
    else:
        plain = colors.tobytes() + PCD_POINTS.T.tobytes()
        packed = lzf_literals(plain)
        body = struct.pack("<II", len(packed), len(plain)) + packed
    (tmp_path / "a.pcd").write_bytes(header + body)
    assert np.array_equal(load_points(tmp_path / "a.pcd"), [[1, 2, 3], [4, 5, 6]])
    (tmp_path / "b.pcd").write_bytes(header + body[:-5])
    if kind != "ascii":
        with pytest.raises(GeometryError):
            load_points(tmp_path / "b.pcd")


def test_lzf_repeats_earlier_output_even_overlapping_itself():
    from memetik.geometry.formats.pcd import decompress_lzf

    # "ab" as it is, then 6 bytes from 2 back; then "c", then 3 from 9 back.
    packed = bytes([1]) + b"ab" + bytes([(4 << 5), 1]) + bytes([0]) + b"c" + bytes([(1 << 5), 8])
    assert decompress_lzf(packed, 12, "it") == b"abababab" + b"c" + b"aba"
    for damaged in (bytes([32, 5]), bytes([255]), bytes([7 << 5, 3, 200])):
        with pytest.raises(GeometryError, match=r"damaged|stated"):
            decompress_lzf(damaged, 100, "it")


def test_points_of_a_ply(tmp_path):
    (tmp_path / "a.ply").write_bytes(write_ply(np.array([[1.0, 2.0, 3.0], [np.inf, 0, 0]])))
    assert np.array_equal(load_points(tmp_path / "a.ply"), [[1, 2, 3]])


def test_files_of_public_robots_are_read_as_trimesh_reads_them():
    import pinocchio  # noqa: F401  brings the folder of robots

    share = Path(trimesh.__file__).parents[1] / "cmeel.prefix/share/example-robot-data"
    chosen = [sorted(share.rglob(f"*.{ending}"))[::40] for ending in ("stl", "STL", "dae", "obj")]
    count = 0
    for path in [path for group in chosen for path in group]:
        mesh = load_mesh(path)
        truth = trimesh.load(path, force="mesh", process=False)
        assert np.allclose(mesh.bounds, truth.bounds, atol=1e-6), path
        # Concave polygons, which trimesh cuts as fans, are a little smaller here.
        assert truth.area * 0.995 <= mesh.area <= truth.area * (1.0 + 1e-6), path
        count += 1
    assert count >= 15
