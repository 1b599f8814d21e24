#include "geometry/depth_points.h"

#include <algorithm>
#include <cmath>

#include "geometry/vectors.h"

namespace memetik {
namespace {

constexpr int kRun = 32;    // neighbours that are compared with the keepouts together
constexpr int kBundle = 8;  // keepouts that share a box; those of one link come one after the other

struct Box {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};

  void add(const double *x, double radius) {
    for (int i = 0; i < 3; ++i) {
      low[i] = std::min(low[i], x[i] - radius);
      high[i] = std::max(high[i], x[i] + radius);
    }
  }
  bool meets(const Box &other) const {
    bool apart = false;
    for (int i = 0; i < 3; ++i) apart |= low[i] > other.high[i] || high[i] < other.low[i];
    return !apart;
  }
};

// Takes points one after the other and keeps those outside, run by run.
class Filter {
 public:
  Filter(const std::vector<Keepout> &keepouts, int64_t most) {
    kept_.resize(size_t(3 * most));
    for (const Keepout &one : keepouts) {
      Ball ball{{one.start[0], one.start[1], one.start[2]}, {}, {}, one.radius * one.radius, {}};
      subtract(one.end, one.start, ball.along);
      const double length2 = dot(ball.along, ball.along);
      for (int i = 0; i < 3; ++i) ball.scaled[i] = length2 > 0 ? ball.along[i] / length2 : 0.0;
      ball.box.add(one.start, one.radius);
      ball.box.add(one.end, one.radius);
      if (balls_.size() % kBundle == 0) bundles_.emplace_back();
      bundles_.back().add(one.start, one.radius);
      bundles_.back().add(one.end, one.radius);
      balls_.push_back(ball);
    }
  }

  // Where the next point is to be written; `next()` then says that it is.
  double *place() { return run_[count_]; }
  void next() {
    if (++count_ == kRun) flush();
  }

  std::vector<double> finish() {
    flush();
    kept_.resize(end_);
    return std::move(kept_);
  }

 private:
  struct Ball {
    double start[3], along[3], scaled[3], square;
    Box box;

    bool holds(const double *point) const {
      double from[3];
      subtract(point, start, from);
      const double t = std::clamp(dot(from, scaled), 0.0, 1.0);
      for (int i = 0; i < 3; ++i) from[i] -= t * along[i];
      return dot(from, from) < square;
    }
  };

  void flush() {
    Box around;
    for (int k = 0; k < count_; ++k) around.add(run_[k], 0.0);
    near_.clear();
    for (size_t bundle = 0; bundle < bundles_.size(); ++bundle) {
      if (!bundles_[bundle].meets(around)) continue;
      for (size_t k = kBundle * bundle; k < std::min(balls_.size(), kBundle * (bundle + 1)); ++k)
        if (balls_[k].box.meets(around)) near_.push_back(&balls_[k]);
    }
    for (int k = 0; k < count_; ++k) {
      bool kept = true;
      for (size_t n = 0; n < near_.size() && kept; ++n) kept = !near_[n]->holds(run_[k]);
      for (int i = 0; i < 3; ++i) kept_[end_ + size_t(i)] = run_[k][i];
      end_ += kept ? 3 : 0;
    }
    count_ = 0;
  }

  std::vector<Ball> balls_;
  std::vector<Box> bundles_;
  std::vector<const Ball *> near_;
  std::vector<double> kept_;
  size_t end_ = 0;
  double run_[kRun][3];
  int count_ = 0;
};

}  // namespace

std::vector<double> points_of(const DepthImage &image, const std::vector<Keepout> &keepouts) {
  const int64_t rows = (image.height + image.stride - 1) / image.stride;
  const int64_t columns = (image.width + image.stride - 1) / image.stride;
  Filter filter(keepouts, rows * columns);
  const double *R = image.pose.R, *p = image.pose.p;
  for (int64_t row = 0; row < image.height; row += image.stride) {
    const double v = (double(row) - image.centre[1]) / image.focal[1];
    for (int64_t column = 0; column < image.width; column += image.stride) {
      const double z = double(image.depth[row * image.width + column]);
      if (!(z > 0 && z <= image.far)) continue;
      const double x = (double(column) - image.centre[0]) / image.focal[0] * z, y = v * z;
      double *point = filter.place();
      for (int i = 0; i < 3; ++i) point[i] = R[3 * i] * x + R[3 * i + 1] * y + R[3 * i + 2] * z + p[i];
      filter.next();
    }
  }
  return filter.finish();
}

std::vector<double> points_outside(const double *points, int64_t count, const std::vector<Keepout> &keepouts) {
  Filter filter(keepouts, count);
  for (const double *point = points; point != points + 3 * count; point += 3) {
    if (!std::isfinite(point[0] + point[1] + point[2])) continue;
    std::copy_n(point, 3, filter.place());
    filter.next();
  }
  return filter.finish();
}

}  // namespace memetik
