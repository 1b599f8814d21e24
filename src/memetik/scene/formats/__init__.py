"""Readers of mesh and point files, one format a file.

Each takes the bytes of a file and gives `RawMesh` (or points), bounded in memory and time whatever the bytes say, and
complains with a `GeometryError` sentence. None fetches anything or follows references out of the file's own folder.
"""
