#include "geometry/ball_cover.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "base/threads.h"

namespace memetik {
namespace {

using Members = std::vector<std::vector<int32_t>>;

// Every so-manieth sample decides on most of the balls; the others tell where that is not enough.
constexpr int64_t kStride = 8;

struct Task {
  const double *centres, *radii, *samples, *margins;
  int64_t sample_count;
  int threads;

  // Which of the samples each of the balls covers. Samples are sorted along x, so that a ball meets a slab of them
  // only.
  Members members(const std::vector<int32_t> &balls, std::vector<int32_t> order) const {
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const double x = samples[3 * int64_t(a)], y = samples[3 * int64_t(b)];
      return x < y || (x == y && a < b);
    });
    const size_t count = order.size();
    std::vector<double> x(count), y(count), z(count), margin(count);
    for (size_t i = 0; i < count; ++i) {
      const double *p = samples + 3 * int64_t(order[i]);
      x[i] = p[0], y[i] = p[1], z[i] = p[2], margin[i] = margins[order[i]];
    }
    Members members(balls.size());
    parallel(int64_t(balls.size()), threads, [&](int64_t k) {
      const double *c = centres + 3 * int64_t(balls[size_t(k)]), r = radii[balls[size_t(k)]];
      const int64_t begin = std::lower_bound(x.begin(), x.end(), c[0] - r) - x.begin();
      const int64_t end = std::upper_bound(x.begin(), x.end(), c[0] + r) - x.begin();
      for (int64_t i = begin; i < end; ++i) {
        const double dx = x[i] - c[0], dy = y[i] - c[1], dz = z[i] - c[2], reach = r - margin[i];
        if (reach >= 0 && dx * dx + dy * dy + dz * dz <= reach * reach) members[size_t(k)].push_back(order[i]);
      }
    });
    return members;
  }
};

// Adds balls to `chosen`, each time the one that covers most of what is not covered yet.
void choose(const Members &members, std::vector<uint8_t> &covered, std::vector<int32_t> &chosen) {
  const auto gain_of = [&](int32_t ball) {
    int64_t gain = 0;
    for (int32_t sample : members[size_t(ball)]) gain += !covered[size_t(sample)];
    return gain;
  };
  // A gain never grows: the best of the old ones, counted anew, is the best if it still beats the next.
  std::priority_queue<std::pair<int64_t, int32_t>> queue;  // (gain, -ball)
  for (size_t ball = 0; ball < members.size(); ++ball)
    if (!members[ball].empty()) queue.push({int64_t(members[ball].size()), -int32_t(ball)});
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
    for (int32_t sample : members[size_t(ball)]) covered[size_t(sample)] = 1;
  }
}

}  // namespace

BallCover cover_by_balls(const double *centres, const double *radii, int64_t ball_count, const double *samples,
                         const double *margins, int64_t sample_count, int threads) {
  const Task task{centres, radii, samples, margins, sample_count, threads};
  std::vector<int32_t> balls, every, some, left, chosen;
  balls.resize(size_t(ball_count)), every.resize(size_t(sample_count));
  std::iota(balls.begin(), balls.end(), 0);
  std::iota(every.begin(), every.end(), 0);
  for (int64_t i = 0; i < sample_count; i += kStride) some.push_back(int32_t(i));
  BallCover cover;
  cover.covered.assign(size_t(sample_count), 0);
  choose(task.members(balls, some), cover.covered, chosen);
  for (const std::vector<int32_t> &own : task.members(chosen, every))
    for (int32_t sample : own) cover.covered[size_t(sample)] = 1;
  for (int32_t sample : every)
    if (!cover.covered[size_t(sample)]) left.push_back(sample);
  choose(task.members(balls, left), cover.covered, chosen);

  const Members members = task.members(chosen, every);
  std::vector<int32_t> times(size_t(sample_count), 0);
  for (const std::vector<int32_t> &own : members)
    for (int32_t sample : own) ++times[size_t(sample)];
  for (size_t k = 0; k < chosen.size(); ++k) {
    const bool needed =
        std::any_of(members[k].begin(), members[k].end(), [&](int32_t s) { return times[size_t(s)] == 1; });
    if (needed)
      cover.chosen.push_back(chosen[k]);
    else
      for (int32_t sample : members[k]) --times[size_t(sample)];
  }
  return cover;
}

}  // namespace memetik
