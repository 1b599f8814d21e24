"""Readers of mesh and point files, one format a file.

Each takes the bytes of a file and gives `RawMesh` (or points), bounded in memory and time whatever the bytes say, and
complains with a `GeometryError` sentence. None fetches anything or follows references out of the file's own folder.
A format is a module here with `read_mesh(data, what, folder)` or `read_points(data, what, normals=)`, and its endings
in these tables.
"""

MESH_FORMATS = {
    ".stl": "stl",
    ".obj": "obj",
    ".dae": "dae",
    ".glb": "gltf",
    ".gltf": "gltf",
    ".ply": "ply",
    ".msh": "msh",
}
"""The module that reads the meshes of files with an ending."""

POINT_FORMATS = {".pcd": "pcd", ".ply": "ply"}
"""The module that reads the points of files with an ending."""

MESH_NAMES = ", ".join(ending[1:].upper() for ending in MESH_FORMATS)
"""The formats of meshes as texts for users name them."""
