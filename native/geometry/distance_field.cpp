#include "geometry/distance_field.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/threads.h"
#include "geometry/triangle_tree.h"

namespace memetik {
namespace {

constexpr double kBand = 3.0;         // cells nearer to the surface than this many of their edges are divided
constexpr double kCornerShare = 0.2;  // of the values; the rest is for the divided cells
constexpr double kCrossing = 1.0005;  // a step of length s may cross the surface when d_a + d_b <= kCrossing * s
constexpr double kDepth = 0.6;        // what is inside by less than this many fine cells may be a trick of the grid
static_assert(kBrick == 4, "bricks are measured in blocks of 2 x 2 x 2 points");
constexpr double kDoubtful = 0.25;  // the flood may stop short of points outside that are nearer than this

constexpr int32_t kOutside = 1;

}  // namespace

// The grid while it is made. A fine point has coordinates in [0, kBrick * cells]; it is stored in every brick that it
// touches, and among the corners where it is one.
class FieldDraft::Grid {
 public:
  Grid(const TriangleTree &tree, const FieldOptions &options) : tree_(tree), threads_(std::max(1, options.threads)) {
    fine_ = options.resolution;
    step = fine_ * kBrick;
    const double padding = std::max(options.padding, kBand * step);
    double count = 1;
    for (int k = 0; k < 3; ++k) {
      const double extent = tree.upper()[k] - tree.lower()[k] + 2 * padding;
      const double whole = std::ceil(extent / step);
      count *= whole + 1;
      if (!(count <= kCornerShare * double(options.max_values))) throw std::length_error("too many cells");
      cells[k] = int32_t(whole);
      origin[k] = tree.lower()[k] - padding - 0.5 * (whole * step - extent);
      corners_[k] = cells[k] + 1;
    }
    corner_count_ = corners_[0] * corners_[1] * corners_[2];
    starts.resize(int64_t(cells[0]) * cells[1] * cells[2]);
    values.resize(corner_count_);
    measure_corners();
    divide(options.max_values);
    measure_bricks();
  }

  // Labels what can be reached from outside 1, and every region sealed off from it 2, 3, ...
  void label() {
    labels_.assign(values.size(), 0);
    std::vector<Point> front;
    for (int32_t k = 0; k <= cells[2]; ++k)
      for (int32_t j = 0; j <= cells[1]; ++j)
        for (int32_t i = 0; i <= cells[0]; ++i) {
          const bool border = i == 0 || j == 0 || k == 0 || i == cells[0] || j == cells[1] || k == cells[2];
          if (border) start_at({{i * kBrick, j * kBrick, k * kBrick}}, kOutside, front);
        }
    flood(front, kOutside);
    int32_t label = kOutside;
    const auto seal = [&](const Point &point, int64_t slot) {
      if (labels_[slot] != 0 || values[slot] <= kDepth * fine_) return;
      regions.push_back({});
      start_at(point, ++label, front);
      deepest_ = 0;
      flood(front, label);
    };
    for (int32_t k = 0; k <= cells[2]; ++k)
      for (int32_t j = 0; j <= cells[1]; ++j)
        for (int32_t i = 0; i <= cells[0]; ++i) seal({{i * kBrick, j * kBrick, k * kBrick}}, corner_slot(i, j, k));
    for (int64_t cell : bricks_) {
      const int64_t c[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / (int64_t(cells[0]) * cells[1])};
      for (int32_t slot = 0; slot < kBrickSize; ++slot) seal(point_in(c, slot), starts[cell] + slot);
    }
  }

  // Gives what is neither outside nor in a free region a negative sign. Returns whether there is anything.
  bool sign(const std::vector<uint8_t> &free_region) {
    reached_.assign(values.size(), 0);
    bool solid = false;
    for (uint8_t free : free_region) solid = solid || !free;
    if (!solid) return false;
    for (size_t i = 0; i < values.size(); ++i)
      reached_[i] = labels_[i] == kOutside || (labels_[i] > kOutside && free_region[size_t(labels_[i] - kOutside - 1)]);
    mend();
    for (size_t i = 0; i < values.size(); ++i)
      if (!reached_[i]) values[i] = -values[i];
    return true;
  }

  struct Region {
    double point[3];  // the deepest
    double depth;
  };
  std::vector<Region> regions;

  std::vector<float> values;
  std::vector<int32_t> starts;
  double origin[3], step;
  int32_t cells[3];

 private:
  int64_t corner_slot(int64_t i, int64_t j, int64_t k) const { return i + corners_[0] * (j + corners_[1] * k); }
  int64_t cell_slot(int64_t i, int64_t j, int64_t k) const { return i + cells[0] * (j + cells[1] * k); }
  bool divided(int64_t cell) const { return starts[cell] >= corner_count_; }

  float exact(const double *grid_point, double scale, int32_t &nearest) const {
    double point[3];
    for (int k = 0; k < 3; ++k) point[k] = origin[k] + scale * grid_point[k];
    return float(tree_.distance(point, nearest));
  }

  void measure_corners() {
    parallel(corners_[1] * corners_[2], threads_, [&](int64_t row) {
      int32_t nearest = -1;
      for (int64_t i = 0; i < corners_[0]; ++i) {
        const double point[3] = {double(i), double(row % corners_[1]), double(row / corners_[1])};
        values[i + corners_[0] * row] = exact(point, step, nearest);
      }
    });
  }

  void divide(int64_t max_values) {
    int64_t next = corner_count_;
    for (int32_t k = 0; k < cells[2]; ++k)
      for (int32_t j = 0; j < cells[1]; ++j)
        for (int32_t i = 0; i < cells[0]; ++i) {
          float least = std::numeric_limits<float>::infinity();
          for (int corner = 0; corner < 8; ++corner)
            least = std::min(least, values[corner_slot(i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2))]);
          int32_t &start = starts[cell_slot(i, j, k)];
          start = int32_t(corner_slot(i, j, k));
          if (least >= kBand * step) continue;
          if (next + kBrickSize > max_values) throw std::length_error("too many cells");
          start = int32_t(next);
          bricks_.push_back(cell_slot(i, j, k));
          next += kBrickSize;
        }
    values.resize(next);
  }

  // A brick measures the points that no later cell owns; the others are copied from their owners.
  void measure_bricks() {
    const auto each_border = [&](int64_t brick, auto &&put) {
      const int64_t cell = bricks_[brick];
      const int64_t c[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / (int64_t(cells[0]) * cells[1])};
      float *out = values.data() + starts[cell];
      for (int k = 0; k < kBrickEdge; ++k)
        for (int j = 0; j < kBrickEdge; ++j)
          for (int i = 0; i < kBrickEdge; ++i) {
            const int local[3] = {i, j, k};
            if (i == kBrick || j == kBrick || k == kBrick) put(c, local, out[i + kBrickEdge * (j + kBrickEdge * k)]);
          }
    };
    parallel(int64_t(bricks_.size()), threads_, [&](int64_t brick) { measure_brick(bricks_[brick]); });
    parallel(int64_t(bricks_.size()), threads_, [&](int64_t brick) {
      int32_t nearest = -1;
      each_border(brick, [&](const int64_t *c, const int *local, float &out) {
        int64_t owner[3];
        int inside[3];
        double point[3];
        bool exists = true;
        for (int axis = 0; axis < 3; ++axis) {
          owner[axis] = c[axis] + local[axis] / kBrick;
          inside[axis] = local[axis] % kBrick;
          exists = exists && owner[axis] < cells[axis];
          point[axis] = double(kBrick * c[axis] + local[axis]);
        }
        const int64_t cell = exists ? cell_slot(owner[0], owner[1], owner[2]) : 0;
        if (exists && divided(cell))
          out = values[starts[cell] + inside[0] + kBrickEdge * (inside[1] + kBrickEdge * inside[2])];
        else
          out = exact(point, fine_, nearest);
      });
    });
  }

  // The points of a brick that it owns, in blocks of eight: the triangles that matter to the brick are found once,
  // those that matter to a block among them.
  void measure_brick(int64_t cell) {
    thread_local std::vector<TriangleTree::Near> of_brick, of_block;
    const int64_t c[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / (int64_t(cells[0]) * cells[1])};
    const double half = std::sqrt(0.75) * fine_;  // from the middle of a block to its corners
    double corner[3], centre[3];
    for (int k = 0; k < 3; ++k) {
      corner[k] = origin[k] + step * double(c[k]);
      centre[k] = corner[k] + 0.5 * (kBrick - 1) * fine_;
    }
    tree_.nearest_to_ball(centre, (kBrick - 1) * half, of_brick);
    float *out = values.data() + starts[cell];
    for (int block = 0; block < 8; ++block) {
      const int first[3] = {block % 2 * 2, block / 2 % 2 * 2, block / 4 * 2};
      double middle[3];
      for (int k = 0; k < 3; ++k) middle[k] = corner[k] + fine_ * (first[k] + 0.5);
      tree_.nearest_among(of_brick, middle, half, of_block);
      for (int point = 0; point < 8; ++point) {
        const int local[3] = {first[0] + point % 2, first[1] + point / 2 % 2, first[2] + point / 4};
        double x[3];
        for (int k = 0; k < 3; ++k) x[k] = corner[k] + fine_ * local[k];
        out[local[0] + kBrickEdge * (local[1] + kBrickEdge * local[2])] =
            float(tree_.distance_among(of_block, x, half));
      }
    }
  }

  // Calls visit(start of the brick, local coordinates) for every brick that the fine point touches.
  template <class Visit>
  void bricks_at(const int32_t *point, const Visit &visit) const {
    int32_t low[3], high[3];
    for (int k = 0; k < 3; ++k) {
      high[k] = std::min(point[k] / kBrick, cells[k] - 1);
      low[k] = point[k] % kBrick == 0 ? std::max(point[k] / kBrick - 1, 0) : high[k];
    }
    for (int32_t k = low[2]; k <= high[2]; ++k)
      for (int32_t j = low[1]; j <= high[1]; ++j)
        for (int32_t i = low[0]; i <= high[0]; ++i) {
          const int64_t cell = cell_slot(i, j, k);
          if (!divided(cell)) continue;
          const int32_t local[3] = {point[0] - kBrick * i, point[1] - kBrick * j, point[2] - kBrick * k};
          visit(int64_t(starts[cell]), local);
        }
  }

  static int64_t inside_brick(const int32_t *local) {
    return local[0] + kBrickEdge * (local[1] + int64_t(kBrickEdge) * local[2]);
  }

  bool is_corner(const int32_t *point) const {
    return point[0] % kBrick == 0 && point[1] % kBrick == 0 && point[2] % kBrick == 0;
  }

  template <class Mark>
  void mark(std::vector<Mark> &marks, const int32_t *point, Mark value) const {
    if (is_corner(point)) marks[corner_slot(point[0] / kBrick, point[1] / kBrick, point[2] / kBrick)] = value;
    bricks_at(point, [&](int64_t start, const int32_t *local) { marks[start + inside_brick(local)] = value; });
  }

  struct Point {
    int32_t at[3];
  };

  Point point_in(const int64_t *c, int32_t slot) const {
    return {{int32_t(kBrick * c[0]) + slot % kBrickEdge, int32_t(kBrick * c[1]) + slot / kBrickEdge % kBrickEdge,
             int32_t(kBrick * c[2]) + slot / (kBrickEdge * kBrickEdge)}};
  }

  void start_at(const Point &point, int32_t label, std::vector<Point> &front) {
    mark(labels_, point.at, label);
    front.push_back(point);
  }

  void note_depth(const Point &point, float depth, int32_t label) {
    if (label == kOutside || depth <= deepest_) return;
    deepest_ = depth;
    regions.back().depth = depth;
    for (int k = 0; k < 3; ++k) regions.back().point[k] = origin[k] + fine_ * point.at[k];
  }

  void flood(std::vector<Point> &front, int32_t label) {
    while (!front.empty()) {
      const Point here = front.back();
      front.pop_back();
      const auto go = [&](int axis, int32_t side) {
        Point next = here;
        next.at[axis] += side;
        start_at(next, label, front);
      };
      if (is_corner(here.at)) {
        const int64_t c[3] = {here.at[0] / kBrick, here.at[1] / kBrick, here.at[2] / kBrick};
        const int64_t strides[3] = {1, corners_[0], corners_[0] * corners_[1]};
        const int64_t slot = corner_slot(c[0], c[1], c[2]);
        note_depth(here, values[slot], label);
        for (int axis = 0; axis < 3; ++axis)
          for (int side = -1; side <= 1; side += 2) {
            if (c[axis] + side < 0 || c[axis] + side > cells[axis]) continue;
            const int64_t other = slot + side * strides[axis];
            if (labels_[other] == 0 && values[slot] + values[other] > kCrossing * step) go(axis, side * kBrick);
          }
      }
      bricks_at(here.at, [&](int64_t start, const int32_t *local) {
        constexpr int64_t strides[3] = {1, kBrickEdge, kBrickEdge * kBrickEdge};
        const int64_t slot = start + inside_brick(local);
        note_depth(here, values[slot], label);
        for (int axis = 0; axis < 3; ++axis)
          for (int side = -1; side <= 1; side += 2) {
            if (local[axis] + side < 0 || local[axis] + side > kBrick) continue;
            const int64_t other = slot + side * strides[axis];
            if (labels_[other] == 0 && values[slot] + values[other] > kCrossing * fine_) go(axis, side);
          }
      });
    }
  }

  // The flood's rule is too careful where the surface runs aslant to the grid: points very near to it stay dry on the
  // outside too. Those that see a wet neighbour are wet, but they hand nothing on, so that a gap cannot leak.
  void mend() {
    std::vector<std::vector<Point>> found(bricks_.size());
    parallel(int64_t(bricks_.size()), threads_, [&](int64_t brick) {
      const int64_t cell = bricks_[brick], start = starts[cell];
      const int64_t c[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / (int64_t(cells[0]) * cells[1])};
      constexpr int64_t strides[3] = {1, kBrickEdge, kBrickEdge * kBrickEdge};
      for (int32_t slot = 0; slot < kBrickSize; ++slot) {
        const float d = values[start + slot];
        if (reached_[start + slot] || d >= kDoubtful * fine_ || d < 1e-3 * fine_) continue;
        const int32_t local[3] = {slot % kBrickEdge, slot / kBrickEdge % kBrickEdge, slot / (kBrickEdge * kBrickEdge)};
        const Point point = point_in(c, slot);
        double from[3], to[3];
        for (int k = 0; k < 3; ++k) from[k] = to[k] = origin[k] + fine_ * point.at[k];
        bool wet = false;
        for (int axis = 0; axis < 3 && !wet; ++axis)
          for (int side = -1; side <= 1 && !wet; side += 2) {
            if (local[axis] + side < 0 || local[axis] + side > kBrick) continue;
            if (!reached_[start + slot + side * strides[axis]]) continue;
            to[axis] = from[axis] + side * fine_;
            wet = !tree_.crossed(from, to);
            to[axis] = from[axis];
          }
        if (wet) found[brick].push_back(point);
      }
    });
    for (const std::vector<Point> &points : found)
      for (const Point &point : points) mark(reached_, point.at, uint8_t(1));
  }

  const TriangleTree &tree_;
  int threads_;
  double fine_;
  int64_t corners_[3], corner_count_;
  std::vector<int64_t> bricks_;  // their cells
  std::vector<int32_t> labels_;
  std::vector<uint8_t> reached_;
  float deepest_ = 0;
};

FieldDraft::FieldDraft(const double *vertices, const int32_t *faces, int64_t face_count, const FieldOptions &options)
    : tree_(std::make_unique<TriangleTree>(vertices, faces, face_count)),
      grid_(std::make_unique<Grid>(*tree_, options)),
      offset_(options.offset) {
  if (options.sign) grid_->label();
}

FieldDraft::~FieldDraft() = default;

size_t FieldDraft::region_count() const { return grid_->regions.size(); }
const double *FieldDraft::region_point(size_t region) const { return grid_->regions[region].point; }
double FieldDraft::region_depth(size_t region) const { return grid_->regions[region].depth; }

DistanceField FieldDraft::finish(const std::vector<uint8_t> &free_region) {
  if (free_region.size() != region_count()) throw std::invalid_argument("There must be one flag for each region.");
  const bool solid = grid_->sign(free_region);
  double bounds[6];
  std::copy(tree_->lower(), tree_->lower() + 3, bounds);
  std::copy(tree_->upper(), tree_->upper() + 3, bounds + 3);
  return DistanceField(std::move(grid_->values), std::move(grid_->starts), grid_->origin, grid_->cells, bounds,
                       grid_->step, offset_, !solid);
}

DistanceField::DistanceField(std::vector<float> values, std::vector<int32_t> starts, const double *origin,
                             const int32_t *cells, const double *bounds, double step, double offset, bool shell)
    : values_(std::move(values)), starts_(std::move(starts)), step_(step), offset_(offset), shell_(shell) {
  std::copy(origin, origin + 3, origin_);
  std::copy(cells, cells + 3, cells_);
  std::copy(bounds, bounds + 6, bounds_);
  int64_t corners = 1, count = 1;
  for (int k = 0; k < 3; ++k) {
    if (cells[k] < 1 || cells[k] > (1 << 24)) throw std::invalid_argument("A field has at least one cell each way.");
    corners *= cells[k] + 1;
    count *= cells[k];
    if (corners > int64_t(values_.size())) throw std::invalid_argument("A field has one value for each corner.");
  }
  if (!(step > 0) || count != int64_t(starts_.size()))
    throw std::invalid_argument("A field has one start for each of its cells and a positive step.");
  for (int64_t cell = 0; cell < count; ++cell) {
    const int64_t i = cell % cells[0], j = cell / cells[0] % cells[1], k = cell / (int64_t(cells[0]) * cells[1]);
    const int64_t own = i + (cells[0] + int64_t(1)) * (j + (cells[1] + int64_t(1)) * k);
    const int64_t start = starts_[cell];
    if (start != own && (start < corners || start + kBrickSize > int64_t(values_.size())))
      throw std::invalid_argument("A cell of the field starts outside its values.");
  }
}

FieldView DistanceField::view() const {
  FieldView view{};
  view.values = values_.data();
  view.starts = starts_.data();
  std::copy(origin_, origin_ + 3, view.origin);
  std::copy(bounds_, bounds_ + 3, view.low);
  std::copy(bounds_ + 3, bounds_ + 6, view.high);
  view.step = step_;
  view.inverse_step = 1 / step_;
  std::copy(cells_, cells_ + 3, view.cells);
  view.corner_count = (cells_[0] + 1) * (cells_[1] + 1) * (cells_[2] + 1);
  view.band = kBand * step_;
  view.offset = offset_;
  return view;
}

}  // namespace memetik
