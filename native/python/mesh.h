// A mesh as Python gives it.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "python/arrays.h"

namespace memetik {

// A mesh, copied: its faces are followed without the interpreter's lock.
struct Mesh {
  Mesh(const Input<double> &given_vertices, const Input<int32_t> &given_faces) {
    check_shape(given_vertices, "vertices", {given_vertices.ndim() == 0 ? 0 : given_vertices.shape(0), 3});
    check_shape(given_faces, "faces", {given_faces.ndim() == 0 ? 0 : given_faces.shape(0), 3});
    if (given_faces.shape(0) == 0) throw std::invalid_argument("A mesh has at least one face.");
    vertices = copied(given_vertices), faces = copied(given_faces);
    for (int32_t vertex : faces)
      if (vertex < 0 || size_t(vertex) >= vertex_count())
        throw std::invalid_argument("A face names a vertex that does not exist.");
    for (double coordinate : vertices)
      if (!(std::fabs(coordinate) <= 1e9))
        throw std::invalid_argument("The coordinates of a mesh must be finite and at most 1e9 m.");
  }

  size_t vertex_count() const { return vertices.size() / 3; }
  int64_t face_count() const { return int64_t(faces.size() / 3); }

  std::vector<double> vertices;
  std::vector<int32_t> faces;
};

}  // namespace memetik
