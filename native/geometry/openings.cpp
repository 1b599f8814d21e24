#include "geometry/openings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace memetik {
namespace {

struct Grid {
  const double *distance;
  int64_t nx, ny, nz;

  int64_t size() const { return nx * ny * nz; }

  bool on_border(int64_t cell) const {
    const int64_t x = cell % nx, y = cell / nx % ny, z = cell / (nx * ny);
    return x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1;
  }

  // Neighbours that share a face, or, with `all`, a face, edge or corner.
  template <class Visit>
  void neighbours(int64_t cell, bool all, const Visit &visit) const {
    const int64_t x = cell % nx, y = cell / nx % ny, z = cell / (nx * ny);
    for (int64_t dz = -1; dz <= 1; ++dz)
      for (int64_t dy = -1; dy <= 1; ++dy)
        for (int64_t dx = -1; dx <= 1; ++dx) {
          const int64_t squared = dx * dx + dy * dy + dz * dz;
          if (squared == 0 || (!all && squared > 1)) continue;
          const int64_t u = x + dx, v = y + dy, w = z + dz;
          if (u < 0 || v < 0 || w < 0 || u >= nx || v >= ny || w >= nz) continue;
          visit((w * ny + v) * nx + u);
        }
  }
};

// For each cell the width of its widest path to the border, and where that is narrowest; -1 where there is no path.
void widest_ways(const Grid &grid, std::vector<double> &width, std::vector<int64_t> &narrowest) {
  width.assign(size_t(grid.size()), -1.0);
  narrowest.assign(size_t(grid.size()), -1);
  std::vector<uint8_t> done(size_t(grid.size()), 0);
  std::priority_queue<std::pair<double, int64_t>> open;
  const auto offer = [&](int64_t cell, double least, int64_t at) {
    if (done[size_t(cell)] || least <= width[size_t(cell)]) return;
    width[size_t(cell)] = least, narrowest[size_t(cell)] = at;
    open.emplace(least, cell);
  };
  for (int64_t cell = 0; cell < grid.size(); ++cell)
    if (grid.distance[cell] > 0.0 && grid.on_border(cell)) offer(cell, grid.distance[cell], cell);
  while (!open.empty()) {
    const auto [least, cell] = open.top();
    open.pop();
    if (done[size_t(cell)]) continue;
    done[size_t(cell)] = 1;
    grid.neighbours(cell, false, [&, least = least, cell = cell](int64_t next) {
      const double own = grid.distance[next];
      if (own > 0.0) offer(next, std::min(least, own), own < least ? next : narrowest[size_t(cell)]);
    });
  }
}

// For each cell the place where steepest ascent from it ends.
std::vector<int64_t> peaks(const Grid &grid) {
  std::vector<int64_t> order(size_t(grid.size())), peak(size_t(grid.size()));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return grid.distance[a] > grid.distance[b]; });
  for (int64_t cell : order) {
    int64_t best = cell;
    grid.neighbours(cell, true, [&](int64_t next) {
      if (grid.distance[next] > grid.distance[best]) best = next;
    });
    peak[size_t(cell)] = best == cell ? cell : peak[size_t(best)];
  }
  return peak;
}

}  // namespace

Openings find_openings(const double *distance, const int64_t cells[3], double ratio) {
  const Grid grid{distance, cells[0], cells[1], cells[2]};
  std::vector<double> width;
  std::vector<int64_t> narrowest;
  widest_ways(grid, width, narrowest);
  const std::vector<int64_t> peak = peaks(grid);
  Openings found;
  found.label.assign(size_t(grid.size()), -1);
  std::map<int64_t, int32_t> number;
  for (int64_t cell = 0; cell < grid.size(); ++cell) {
    const size_t top = size_t(peak[size_t(cell)]);
    if (width[top] <= 0.0 || width[top] >= ratio * distance[top]) continue;
    const auto [entry, fresh] = number.emplace(narrowest[top], int32_t(found.cell.size()));
    if (fresh) found.cell.push_back(narrowest[top]), found.width.push_back(width[top]);
    found.label[size_t(cell)] = entry->second;
  }
  return found;
}

}  // namespace memetik
