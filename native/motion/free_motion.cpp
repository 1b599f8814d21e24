#include "motion/free_motion.h"

#include <algorithm>
#include <cmath>

#include "base/dispatch.h"

namespace memetik {

MEMETIK_KERNEL_TABLE(MotionKernels, motion_kernels)

namespace {

constexpr int kLanes = 8;
constexpr int kLeastParts = 3;         // into which intervals that are not proved are divided
constexpr double kFirstTravel = 0.16;  // metres: a motion starts with intervals in which no point moves farther

double length(const double *v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// The radius of an object about the origin of the frame that its pose is given in.
double radius_of(const WorldObject &object) {
  const double *s = object.size;
  double own = 0;
  switch (object.kind) {
    case ObjectKind::sphere:
      own = s[0];
      break;
    case ObjectKind::box:
      own = length(s);
      break;
    case ObjectKind::capsule:
      own = s[0] + s[2];
      break;
    case ObjectKind::cylinder:
      own = std::hypot(s[0], s[2]);
      break;
    case ObjectKind::field: {
      double corner[3];
      for (int k = 0; k < 3; ++k) corner[k] = std::max(std::abs(object.field->low[k]), std::abs(object.field->high[k]));
      own = length(corner) + std::abs(object.field->offset);
      break;
    }
    case ObjectKind::half_space:
      own = 1e6;
      break;
  }
  return own + object.padding + length(object.pose.p);
}

}  // namespace

Levers::Levers(const TreeView &tree, const CollisionView &model, const double *slides) {
  const int units = model.group_count + model.link_object_count;
  const size_t dof = size_t(tree.dof), axes = size_t(tree.axis_count);
  // By axis first: a variable may move several axes, of which some carry both of a pair.
  std::vector<double> by_axis(size_t(units) * axes, 0.0);
  std::vector<int> axis_of(static_cast<size_t>(units));
  for (int u = 0; u < units; ++u) {
    const bool group = u < model.group_count;
    const LinkObject *object = group ? nullptr : model.link_objects + (u - model.group_count);
    double reach = group ? length(model.groups[u].centre) + model.groups[u].reach : radius_of(object->object);
    axis_of[size_t(u)] = group ? model.groups[u].axis : object->axis;
    for (int a = axis_of[size_t(u)]; a >= 0; a = tree.axes[a].parent) {
      const Axis &axis = tree.axes[a];
      by_axis[size_t(u) * axes + size_t(a)] = std::abs(axis.multiplier) * (axis.prismatic ? 1.0 : reach);
      reach += length(axis.placement.p);
      if (axis.prismatic) reach += std::abs(axis.multiplier) * slides[axis.variable] + std::abs(axis.offset);
    }
  }
  world.assign(size_t(units) * dof, 0.0);
  for (int u = 0; u < units; ++u)
    for (size_t a = 0; a < axes; ++a)
      world[size_t(u) * dof + size_t(tree.axes[a].variable)] += by_axis[size_t(u) * axes + a];
  pair.assign(size_t(model.pair_count) * dof, 0.0);
  for (int p = 0; p < model.pair_count; ++p) {
    std::vector<uint8_t> carries(axes, 0);
    for (const int u : {model.pairs[p].first, model.pairs[p].second})
      for (int a = axis_of[size_t(u)]; a >= 0; a = tree.axes[a].parent) carries[size_t(a)] ^= 1;
    for (const int u : {model.pairs[p].first, model.pairs[p].second})
      for (size_t a = 0; a < axes; ++a)
        if (carries[a]) pair[size_t(p) * dof + size_t(tree.axes[a].variable)] += by_axis[size_t(u) * axes + a];
  }
}

MotionModel::MotionModel(std::shared_ptr<const FastCollisionModel> world, const Tree &tree, const double *slides,
                         double margin, double tolerance)
    : world_(std::move(world)),
      model_(world_->view()),
      tree_(tree.view()),
      levers_(tree_, model_, slides),
      margin_(margin),
      tolerance_(tolerance) {}

MotionChecker::MotionChecker(const MotionModel &model)
    : model_(model), kernels_(active_motion_kernels()), dof_(model.dof()) {
  scratch_.get(kernels_.scratch_bytes(model.tree()));
  q_.resize(size_t(kLanes * dof_));
  spread_.resize(size_t(kLanes * dof_));
  difference_.resize(size_t(dof_));
  first_.resize(size_t(dof_));
  second_.resize(size_t(dof_));
}

void MotionChecker::states(const double *q, const double *spread, long count, uint8_t *state) {
  checks_ += count;
  const MotionView view{model_.collision(), model_.tree(), model_.levers(), model_.margin()};
  kernels_.states(view, q, spread, state, count, scratch_.data());
}

bool MotionChecker::is_free(const double *q) {
  std::fill(spread_.begin(), spread_.end(), 0.0);
  uint8_t state;
  states(q, spread_.data(), 1, &state);
  return state != kBlocked;
}

double MotionChecker::travel(const double *dq) {
  const LeverView levers = model_.levers();
  const CollisionView &collision = model_.collision();
  double most = 0;
  const auto look = [&](const double *rows, int count) {
    for (int u = 0; u < count; ++u) {
      double sum = 0;
      for (int k = 0; k < dof_; ++k) sum += rows[u * dof_ + k] * std::abs(dq[k]);
      most = std::max(most, sum);
    }
  };
  look(levers.world, collision.group_count + collision.link_object_count);
  look(levers.pair, collision.pair_count);
  return most;
}

// Divides [0, 1] until each part is proved or a configuration collides. place(low, high, q, spread) writes one of the
// part and how far from it the others of the part may be, per joint.
template <class Place>
double MotionChecker::prove(double travel, const Place &place) {
  const int batches = std::clamp(int(std::ceil(travel / kFirstTravel / kLanes)), 1, 64);
  const int count = travel < kFirstTravel / kLanes ? 1 : batches * kLanes;
  pending_.clear();
  // Neighbours in time come in different batches, so that an obstacle is met early.
  for (int b = 0; b < batches; ++b)
    for (int part = b; part < count; part += batches)
      pending_.push_back({double(part) / count, double(part + 1) / count});
  const double least = travel > 0 ? model_.tolerance() / travel : 1.0;
  uint8_t state[kLanes];
  while (!pending_.empty()) {
    next_.clear();
    for (size_t begin = 0; begin < pending_.size(); begin += kLanes) {
      const size_t size = std::min<size_t>(kLanes, pending_.size() - begin);
      for (size_t i = 0; i < size; ++i) {
        const Interval &part = pending_[begin + i];
        place(part.low, part.high, q_.data() + i * size_t(dof_), spread_.data() + i * size_t(dof_));
      }
      states(q_.data(), spread_.data(), long(size), state);
      for (size_t i = 0; i < size; ++i) {
        const Interval &part = pending_[begin + i];
        const double half = 0.5 * (part.high - part.low);
        if (state[i] == kProved) continue;
        if (state[i] == kBlocked || half < least) return part.low + half;
        next_.push_back(part);
      }
    }
    // Few intervals are divided into many parts, so that the lanes are full.
    const int parts = next_.empty() ? 0 : std::max<int>(kLeastParts, kLanes / int(next_.size()));
    pending_.clear();
    for (int k = 0; k < parts; ++k)
      for (const Interval &part : next_) {
        const double size = (part.high - part.low) / parts;
        pending_.push_back({part.low + k * size, k + 1 < parts ? part.low + (k + 1) * size : part.high});
      }
  }
  return 1.0;
}

double MotionChecker::edge(const double *a, const double *b) {
  for (int k = 0; k < dof_; ++k) difference_[size_t(k)] = b[k] - a[k];
  const double *d = difference_.data();
  return prove(travel(d), [&](double low, double high, double *q, double *spread) {
    const double middle = 0.5 * (low + high), half = 0.5 * (high - low) * (1 + 1e-9);
    for (int k = 0; k < dof_; ++k) {
      q[k] = a[k] + middle * d[k];
      spread[k] = half * std::abs(d[k]);
    }
  });
}

bool MotionChecker::is_curve_proved(const double *a, const double *b, const double *c) {
  // The derivative is 2 ((1 - u) (b - a) + u (c - b)): largest at the ends of each part.
  double *first = first_.data(), *second = second_.data();
  for (int k = 0; k < dof_; ++k) {
    first[k] = 2 * (b[k] - a[k]);
    second[k] = 2 * (c[k] - b[k]);
    difference_[size_t(k)] = std::max(std::abs(first[k]), std::abs(second[k]));
  }
  return prove(travel(difference_.data()), [&](double low, double high, double *q, double *spread) {
           const double u = 0.5 * (low + high), half = 0.5 * (high - low) * (1 + 1e-9);
           for (int k = 0; k < dof_; ++k) {
             q[k] = (1 - u) * (1 - u) * a[k] + 2 * u * (1 - u) * b[k] + u * u * c[k];
             const double at_low = (1 - low) * first[k] + low * second[k];
             const double at_high = (1 - high) * first[k] + high * second[k];
             spread[k] = half * std::max(std::abs(at_low), std::abs(at_high));
           }
         }) >= 1.0;
}

}  // namespace memetik
