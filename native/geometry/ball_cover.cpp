#include "geometry/ball_cover.h"

#include <algorithm>
#include <cmath>
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
  struct Cells;
  const double *centres, *radii, *samples, *margins;
  int64_t sample_count;
  int threads;

  Members members(const std::vector<int32_t> &balls, const std::vector<int32_t> &order) const;
};

// Samples by the cells of a grid, whose edge is the mean radius of the balls or so.
struct Task::Cells {
  double low[3], inverse;
  int64_t counts[3] = {1, 1, 1};
  std::vector<int32_t> sorted, starts;

  Cells(const Task &task, const std::vector<int32_t> &balls, const std::vector<int32_t> &order) {
    double high[3] = {-INFINITY, -INFINITY, -INFINITY}, edge = 1e-9;
    std::fill(low, low + 3, INFINITY);
    for (int32_t sample : order)
      for (int i = 0; i < 3; ++i) {
        const double x = task.samples[3 * int64_t(sample) + i];
        low[i] = std::min(low[i], x), high[i] = std::max(high[i], x);
      }
    for (int32_t ball : balls) edge += task.radii[ball] / double(balls.size());
    for (;; edge *= 1.5) {
      double cells = 1;
      for (int i = 0; i < 3; ++i) cells *= order.empty() ? 1.0 : std::floor((high[i] - low[i]) / edge) + 1;
      if (cells <= 4e6) break;
    }
    inverse = 1 / edge;
    for (int i = 0; i < 3; ++i) counts[i] = order.empty() ? 1 : int64_t((high[i] - low[i]) * inverse) + 1;
    starts.assign(size_t(counts[0] * counts[1] * counts[2] + 1), 0);
    std::vector<int64_t> cell;
    cell.reserve(order.size());
    for (int32_t sample : order) {
      const double *p = task.samples + 3 * int64_t(sample);
      cell.push_back(number(p[0], 0) + counts[0] * (number(p[1], 1) + counts[1] * number(p[2], 2)));
      ++starts[size_t(cell.back()) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int32_t> next(starts.begin(), starts.end() - 1);
    sorted.resize(order.size());
    for (size_t k = 0; k < order.size(); ++k) sorted[size_t(next[size_t(cell[k])]++)] = order[k];
  }

  int64_t number(double x, int i) const {
    return int64_t(std::clamp((x - low[i]) * inverse, 0.0, double(counts[i] - 1)));
  }
};

// Which of the samples each of the balls covers. Samples stand in the order of the cells of a grid, so that a ball
// meets those in a few rows of cells only.
Members Task::members(const std::vector<int32_t> &balls, const std::vector<int32_t> &order) const {
  const Cells cells(*this, balls, order);
  const size_t count = order.size();
  std::vector<double> x(count), y(count), z(count), margin(count);
  for (size_t i = 0; i < count; ++i) {
    const double *p = samples + 3 * int64_t(cells.sorted[i]);
    x[i] = p[0], y[i] = p[1], z[i] = p[2], margin[i] = margins[cells.sorted[i]];
  }
  Members members(balls.size());
  parallel(int64_t(balls.size()), threads, [&](int64_t k) {
    const double *c = centres + 3 * int64_t(balls[size_t(k)]), r = radii[balls[size_t(k)]];
    int64_t low[3], high[3];
    for (int i = 0; i < 3; ++i) low[i] = cells.number(c[i] - r, i), high[i] = cells.number(c[i] + r, i);
    for (int64_t cz = low[2]; cz <= high[2]; ++cz)
      for (int64_t cy = low[1]; cy <= high[1]; ++cy) {
        const int64_t row = cells.counts[0] * (cy + cells.counts[1] * cz);
        for (int32_t i = cells.starts[size_t(row + low[0])]; i < cells.starts[size_t(row + high[0] + 1)]; ++i) {
          const size_t at = size_t(i);
          const double dx = x[at] - c[0], dy = y[at] - c[1], dz = z[at] - c[2], reach = r - margin[at];
          if (reach >= 0 && dx * dx + dy * dy + dz * dz <= reach * reach)
            members[size_t(k)].push_back(cells.sorted[at]);
        }
      }
  });
  return members;
}

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
