#include "ball_cover.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "parallel.h"

namespace memetik {
namespace {

using Members = std::vector<std::vector<int32_t>>;

// Samples sorted along x, so that a ball meets a slab of them only.
Members members_of(const double *centres, const double *radii, int64_t ball_count, const double *samples,
                   const double *margins, int64_t sample_count, int threads) {
  std::vector<int32_t> order(sample_count);
  for (int64_t i = 0; i < sample_count; ++i) order[i] = int32_t(i);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return samples[3 * int64_t(a)] < samples[3 * int64_t(b)] ||
           (samples[3 * int64_t(a)] == samples[3 * int64_t(b)] && a < b);
  });
  std::vector<double> x(sample_count), y(sample_count), z(sample_count), margin(sample_count);
  for (int64_t i = 0; i < sample_count; ++i) {
    const double *p = samples + 3 * int64_t(order[i]);
    x[i] = p[0], y[i] = p[1], z[i] = p[2], margin[i] = margins[order[i]];
  }
  Members members(ball_count);
  parallel(ball_count, threads, [&](int64_t ball) {
    const double *c = centres + 3 * ball, r = radii[ball];
    const int64_t begin = std::lower_bound(x.begin(), x.end(), c[0] - r) - x.begin();
    const int64_t end = std::upper_bound(x.begin(), x.end(), c[0] + r) - x.begin();
    for (int64_t i = begin; i < end; ++i) {
      const double dx = x[i] - c[0], dy = y[i] - c[1], dz = z[i] - c[2], reach = r - margin[i];
      if (reach >= 0 && dx * dx + dy * dy + dz * dz <= reach * reach) members[ball].push_back(order[i]);
    }
  });
  return members;
}

}  // namespace

BallCover cover_by_balls(const double *centres, const double *radii, int64_t ball_count, const double *samples,
                         const double *margins, int64_t sample_count, int threads) {
  const Members members = members_of(centres, radii, ball_count, samples, margins, sample_count, threads);
  BallCover cover;
  cover.covered.assign(sample_count, 0);
  const auto gain_of = [&](int32_t ball) {
    int64_t gain = 0;
    for (int32_t sample : members[ball]) gain += !cover.covered[sample];
    return gain;
  };
  // A gain never grows: the best of the old ones, counted anew, is the best if it still beats the next.
  std::priority_queue<std::pair<int64_t, int32_t>> queue;  // (gain, -ball)
  for (int64_t ball = 0; ball < ball_count; ++ball) queue.push({int64_t(members[ball].size()), -int32_t(ball)});
  std::vector<int32_t> chosen;
  while (!queue.empty()) {
    const int32_t ball = -queue.top().second;
    queue.pop();
    const int64_t gain = gain_of(ball);
    if (gain == 0) continue;
    if (!queue.empty() && std::pair(gain, -ball) < queue.top()) {
      queue.push({gain, -ball});
      continue;
    }
    chosen.push_back(ball);
    for (int32_t sample : members[ball]) cover.covered[sample] = 1;
  }
  std::vector<int32_t> times(sample_count, 0);
  for (int32_t ball : chosen)
    for (int32_t sample : members[ball]) ++times[sample];
  for (int32_t ball : chosen) {
    const bool needed =
        std::any_of(members[ball].begin(), members[ball].end(), [&](int32_t s) { return times[s] == 1; });
    if (needed)
      cover.chosen.push_back(ball);
    else
      for (int32_t sample : members[ball]) --times[sample];
  }
  return cover;
}

}  // namespace memetik
