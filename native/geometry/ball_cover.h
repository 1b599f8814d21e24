// Few balls that cover many points: greedy set cover.
#pragma once

#include <cstdint>
#include <vector>

namespace memetik {

struct BallCover {
  std::vector<int32_t> chosen;   // balls, in the order they were chosen
  std::vector<uint8_t> covered;  // per sample
};

// A ball covers a sample when it holds all points within the sample's margin. Each choice covers the most samples that
// no earlier one does, of a few of the samples first, then of those that are left; of equal ones the first. Choices
// that the later ones make needless are dropped.
BallCover cover_by_balls(const double *centres, const double *radii, int64_t ball_count, const double *samples,
                         const double *margins, int64_t sample_count, int threads);

}  // namespace memetik
