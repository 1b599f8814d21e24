// Openings of a hollow body: the narrowest places on the widest paths out of it.
#pragma once

#include <cstdint>
#include <vector>

namespace memetik {

// Of a grid of signed distances (x fastest). `label` has one entry per cell: the opening through which the widest path
// from there leads out of the grid, -1 where nothing on it is notably narrower than the place itself.
struct Openings {
  std::vector<int32_t> label;
  std::vector<int64_t> cell;  // where each opening is
  std::vector<double> width;  // distance to the nearest wall there
};

// A path is as wide as its narrowest place, the widest is taken. Cells are first led uphill to the middle of the room
// they are in; an opening counts where it is narrower than `ratio` times that room.
Openings find_openings(const double *distance, const int64_t cells[3], double ratio);

}  // namespace memetik
