// Signed distance to a triangle mesh on a grid that is fine near the surface. Immutable once built.
//
// Distances are exact at the grid's points (point to triangle, over a tree of boxes). The sign comes from flooding the
// grid from outside, so that neither the winding of the faces nor doubled vertices matter: a step between neighbours
// a, b at distance s cannot cross the surface when d_a + d_b > s. What the flood does not reach falls into regions that
// are sealed off by the surface; the caller says which of them are free after all (a closed room), the others are
// inside. Where nothing is inside, the mesh is a shell: unsigned distance.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "geometry/world_object.h"

namespace memetik {

struct FieldOptions {
  double resolution;   // edge of a fine cell
  double padding;      // how far the grid reaches beyond the mesh
  double offset;       // subtracted from every value
  int64_t max_values;  // numbers that may be stored
  int threads;
  bool sign;  // false: a shell, whatever it encloses
};

class DistanceField {
 public:
  // From what another field held; throws std::invalid_argument where that does not fit together.
  // bounds: lowest and highest corner of the box around the mesh.
  DistanceField(std::vector<float> values, std::vector<int32_t> starts, const double *origin, const int32_t *cells,
                const double *bounds, double step, double offset, bool shell);

  FieldView view() const;
  const std::vector<float> &values() const { return values_; }
  const std::vector<int32_t> &starts() const { return starts_; }
  bool shell() const { return shell_; }

 private:
  std::vector<float> values_;
  std::vector<int32_t> starts_;
  double origin_[3], bounds_[6];
  int32_t cells_[3];
  double step_, offset_;
  bool shell_;
};

class TriangleTree;

// A field whose sign is yet to be given.
class FieldDraft {
 public:
  // vertices: (vertex_count, 3), faces: (face_count, 3), indices in range, numbers finite.
  // Throws std::length_error where the grid would need more than max_values.
  FieldDraft(const double *vertices, const int32_t *faces, int64_t face_count, const FieldOptions &options);
  ~FieldDraft();

  size_t region_count() const;
  const double *region_point(size_t region) const;  // the one farthest from the surface
  double region_depth(size_t region) const;

  // free_region: one flag per region, 1 where it is not inside. The draft is used up.
  DistanceField finish(const std::vector<uint8_t> &free_region);

 private:
  class Grid;
  std::unique_ptr<TriangleTree> tree_;
  std::unique_ptr<Grid> grid_;
  double offset_;
};

}  // namespace memetik
