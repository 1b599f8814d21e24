#include "tracking/motion_guard.h"

#include <algorithm>
#include <cmath>

#include "geometry/gjk.h"
#include "tracking/brake_path.h"
#include "tracking/braking.h"
#include "tree/placement.h"

namespace memetik {
namespace {

// Seconds at full speed by which the boxes that are tried reach beyond the braking; the largest that is proved is kept.
constexpr double kGrowth[kMeshLanes] = {0.3, 0.15, 0.08, 0.04, 0.02, 0.01, 0.004, 0.0};
constexpr double kFastest = 4.0;                    // radians or metres per second: beyond it boxes do not grow
constexpr double kSlack = 1e-9;                     // joint units: rounding of configurations
constexpr int kMostBlocks = 5;                      // of configurations that one proof may look at
constexpr int kMostRows = 3;                        // that one step slides along
constexpr double kKept[] = {0.6, 0.25, 0.05, 0.0};  // shares of the motion towards what is in the way
constexpr double kSlower[] = {0.5, 0.2, 0.05};
// Steps are kept this far beyond the margin, metres: so near to it that nothing can be proved of any motion, the robot
// would stick. Nearer than that it may only go away.
constexpr double kBuffer = 1e-3;
constexpr double kRetreat = 0.1;     // of what is missing, in a step
constexpr int kAway = 4;             // the first of the steps that are tried which goes away
constexpr int kInPieces[] = {1, 3};  // of the steps that are tried, those that are looked at piece by piece
constexpr double kShort = 3;         // steps of braking that pieces would not prove either
constexpr double kSlopeStep = 1e-4;
constexpr double kOverlap = 1e-9;  // metres

Placement relative(const Placement &a, const Placement &b) {
  Placement back, out;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) back.R[3 * i + k] = a.R[3 * k + i];
  for (int i = 0; i < 3; ++i)
    back.p[i] = -(back.R[3 * i] * a.p[0] + back.R[3 * i + 1] * a.p[1] + back.R[3 * i + 2] * a.p[2]);
  out = product(back, b);
  return out;
}

Placement body_pose(const MeshRobotView &robot, int body, const double *q) {
  int chain[256], count = 0;
  for (int a = robot.bodies[body].axis; a >= 0 && count < 256; a = robot.axes[a].parent) chain[count++] = a;
  Placement frame{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  while (count > 0) {
    const AxisView &axis = robot.axes[chain[--count]];
    frame = product(frame, axis.exact);
    const double value = axis.multiplier * q[axis.variable] + axis.offset;
    if (axis.prismatic) {
      for (int i = 0; i < 3; ++i) frame.p[i] += value * frame.R[3 * i + 2];
      continue;
    }
    const double s = std::sin(value), c = std::cos(value);
    for (int i = 0; i < 3; ++i) {
      const double x = frame.R[3 * i], y = frame.R[3 * i + 1];
      frame.R[3 * i] = c * x + s * y, frame.R[3 * i + 1] = c * y - s * x;
    }
  }
  return product(frame, robot.bodies[body].exact);
}

void support_of(const CollisionShape &shape, const double *direction, double *point) {
  if (shape.kind() == ShapeKind::mesh)
    shape.reduced_support(direction, point);
  else
    shape.support(direction, point);
}

// The distance of two hulls, meshes by their reduced ones; 0 where they overlap. v: where the search starts, from b to
// a in the frame of a; left as what it ends with.
double hull_distance(const CollisionShape &a, const CollisionShape &b, const Placement &b_in_a, double *v) {
  if (b.kind() == ShapeKind::half_space) {
    const double *R = b_in_a.R, down[3] = {-R[2], -R[5], -R[8]};
    double lowest[3];
    support_of(a, down, lowest);
    double height = 0;
    for (int i = 0; i < 3; ++i) height -= down[i] * (lowest[i] - b_in_a.p[i]);
    return std::max(0.0, height - a.radius());
  }
  const auto support = [&](const double *d, double *out) {
    const double *R = b_in_a.R;
    const double inner[3] = {-(R[0] * d[0] + R[3] * d[1] + R[6] * d[2]), -(R[1] * d[0] + R[4] * d[1] + R[7] * d[2]),
                             -(R[2] * d[0] + R[5] * d[1] + R[8] * d[2])};
    double own[3], other[3];
    support_of(a, d, own);
    support_of(b, inner, other);
    for (int i = 0; i < 3; ++i)
      out[i] = own[i] - (b_in_a.p[i] + R[3 * i] * other[0] + R[3 * i + 1] * other[1] + R[3 * i + 2] * other[2]);
  };
  gjk::Simplex simplex;
  double w[3];
  if (!(dot(v, v) > 0)) v[0] = 1;
  double length2 = dot(v, v);
  for (int step = 0; step < 64; ++step) {
    const double backwards[3] = {-v[0], -v[1], -v[2]};
    support(backwards, w);
    if (simplex.count > 0 && length2 - dot(v, w) <= 1e-10 * length2) break;
    for (int i = 0; i < 3; ++i) simplex.points[simplex.count][i] = w[i];
    ++simplex.count;
    if (simplex.reduce(v)) return 0;
    const double before = length2;
    length2 = dot(v, v);
    if (length2 < 1e-18) return 0;
    if (step > 0 && length2 >= before * (1 - 1e-14)) break;
  }
  return std::max(0.0, std::sqrt(length2) - a.radius() - b.radius());
}

// Whether no point of an object moved farther than `most` between two poses.
bool moved_at_most(const MeshObjectSpec &before, const MeshObjectSpec &after, double most) {
  double shift = 0, turn = 0;
  for (int i = 0; i < 3; ++i) shift += std::pow(after.pose.p[i] - before.pose.p[i], 2);
  for (int i = 0; i < 9; ++i) turn += std::pow(after.pose.R[i] - before.pose.R[i], 2);
  if (turn == 0) return std::sqrt(shift) <= most;
  const double *c = before.shape->centre();
  return std::sqrt(shift) + std::sqrt(turn) * (before.shape->bounding_radius() + std::sqrt(dot(c, c))) <= most;
}

}  // namespace

MotionGuard::MotionGuard(int dof) : dof_(dof) {
  for (auto *numbers : {&box_low_, &box_high_, &range_low_, &range_high_, &low_, &high_, &wanted_, &brake_, &place_})
    numbers->assign(size_t(dof), 0.0);
  q_.assign(size_t(kMeshLanes * dof), 0.0), spread_.assign(size_t(kMeshLanes * dof), 0.0);
  trials_.assign(size_t(kMeshLanes * dof), 0.0);
}

void MotionGuard::use(std::shared_ptr<const MeshModel> standing, std::shared_ptr<const MeshModel> moving, double speed,
                      double latency) {
  if (standing != standing_model_ || speed != speed_ || latency != latency_) forget();
  if (standing != standing_model_) standing_ = standing->checker();
  if (moving != moving_model_) {
    // What is faster than it was said to be, or new, is looked at anew.
    bool as_said =
        moving && moving_model_ && moving->scene()->objects().size() == moving_model_->scene()->objects().size();
    for (size_t k = 0; as_said && k < moving->scene()->objects().size(); ++k)
      as_said = moved_at_most(moving_model_->scene()->objects()[k], moving->scene()->objects()[k],
                              speed * (now_ - moved_at_ + latency) + 1e-9);
    if (!as_said) forget();
    moving_ = moving ? moving->checker() : nullptr;
    moved_at_ = now_;
  }
  standing_model_ = std::move(standing), moving_model_ = std::move(moving), speed_ = speed;
  latency_ = latency;
}

bool MotionGuard::is_free(const double *q) { return standing_->is_free(q); }

GuardEnd MotionGuard::filter(const Step &step) {
  now_ += step.dt;
  if (is_proved(step)) return GuardEnd::kept;
  return slide(step);
}

// The step and the braking after it, joint by joint: they are monotonous, so that its ends are their bounds.
bool MotionGuard::is_proved(const Step &step) {
  const double *change = step.change;
  double steps = 0;
  for (int i = 0; i < dof_; ++i) {
    const double own = steps_to_rest(change[i], step.acceleration[i]);
    const double end = step.q[i] + brake_offset(change[i], step.acceleration[i], own);
    range_low_[size_t(i)] = std::min(step.q[i], end) - kSlack;
    range_high_[size_t(i)] = std::max(step.q[i], end) + kSlack;
    steps = std::max(steps, own);
  }
  if (steps == 0) return true;  // at rest
  const double seconds = steps * step.dt;
  if (is_in_box(seconds)) return true;
  if (prove_box(step, seconds)) return true;
  return steps > kShort && prove_pieces(step, change, steps);
}

bool MotionGuard::is_in_box(double seconds) const {
  if (!box_known_ || (moving_ && now_ + seconds > box_until_)) return false;
  for (size_t i = 0; i < range_low_.size(); ++i)
    if (range_low_[i] < box_low_[i] || range_high_[i] > box_high_[i]) return false;
  return true;
}

// Boxes around the braking, some larger than others, all at once: the largest that is proved serves for steps to come.
bool MotionGuard::prove_box(const Step &step, double seconds) {
  const size_t n = size_t(dof_);
  for (int lane = 0; lane < kMeshLanes; ++lane) {
    for (size_t i = 0; i < n; ++i) {
      const double more = kGrowth[lane] * std::min(step.velocity[i] / step.dt, kFastest);
      const double low = std::max(step.lower[i], range_low_[i] - more),
                   high = std::min(step.upper[i], range_high_[i] + more);
      const double least = std::min(low, range_low_[i]), most = std::max(high, range_high_[i]);
      q_[size_t(lane) * n + i] = 0.5 * (least + most);
      spread_[size_t(lane) * n + i] = 0.5 * (most - least) + kSlack;
    }
    extra_[lane] = speed_ * (seconds + kGrowth[lane] + step.dt + latency_);
  }
  const unsigned left = unproved(kMeshLanes, kBuffer);
  if (left == (1u << kMeshLanes) - 1) return false;
  const int lane = __builtin_ctz(~left);
  for (size_t i = 0; i < n; ++i) {
    box_low_[i] = q_[size_t(lane) * n + i] - spread_[size_t(lane) * n + i] + kSlack;
    box_high_[i] = q_[size_t(lane) * n + i] + spread_[size_t(lane) * n + i] - kSlack;
  }
  box_until_ = now_ + seconds + kGrowth[lane];
  return box_known_ = true;
}

// In pieces along the way, halved where they are not proved.
bool MotionGuard::prove_pieces(const Step &step, const double *change, double steps) {
  const size_t n = size_t(dof_);
  pending_.clear();
  // Braking covers equal parts of its way in these parts of its time.
  for (int k = 0; k < kMeshLanes; ++k)
    for (const int side : {0, 1}) pending_.push_back(steps * (1 - std::sqrt(1 - (k + side) / double(kMeshLanes))));
  for (int block = 0; !pending_.empty();) {
    next_.clear();
    for (size_t first = 0; first < pending_.size(); first += 2 * kMeshLanes, ++block) {
      const int count = int(std::min<size_t>(kMeshLanes, (pending_.size() - first) / 2));
      for (int lane = 0; lane < count; ++lane) {
        const double from = pending_[first + size_t(2 * lane)], to = pending_[first + size_t(2 * lane) + 1];
        for (size_t i = 0; i < n; ++i) {
          const double a = brake_offset(change[i], step.acceleration[i], from),
                       b = brake_offset(change[i], step.acceleration[i], to);
          q_[size_t(lane) * n + i] = step.q[i] + 0.5 * (a + b);
          spread_[size_t(lane) * n + i] = 0.5 * std::fabs(b - a) + kSlack;
        }
        extra_[lane] = speed_ * (step.dt * (std::ceil(to) + 1) + latency_);
      }
      const unsigned left = unproved(count, kBuffer);
      if (left != 0 && block >= kMostBlocks) return false;
      for (int lane = 0; lane < count; ++lane) {
        if (!(left >> lane & 1)) continue;
        const double from = pending_[first + size_t(2 * lane)], to = pending_[first + size_t(2 * lane) + 1];
        next_.insert(next_.end(), {from, 0.5 * (from + to), 0.5 * (from + to), to});
      }
      if (next_.size() > 6 * kMeshLanes) return false;
    }
    std::swap(pending_, next_);
  }
  return true;
}

// Bits of the rows of q_ and spread_ that are not proved free.
unsigned MotionGuard::unproved(int count, double clearance) {
  ++checks_;
  double extra[kMeshLanes];
  std::fill_n(extra, kMeshLanes, clearance);
  const unsigned left = standing_->unproved(q_.data(), spread_.data(), count, extra);
  if (left != 0) note_contact(false);
  if (!moving_) return left;
  for (int lane = 0; lane < count; ++lane) extra[lane] = extra_[lane] + clearance;
  const unsigned near = moving_->unproved(q_.data(), spread_.data(), count, extra);
  if (near != 0) note_contact(true);
  return left | near;
}

void MotionGuard::note_contact(bool moving) {
  const MeshContact found = (moving ? moving_ : standing_)->contact();
  contact_ = {found.body, found.other, found.with_object, moving};
}

double MotionGuard::distance(const Contact &contact, const double *q, double *direction) const {
  const MeshChecker &checker = contact.moving ? *moving_ : *standing_;
  const MeshRobotView robot = checker.robot().view();
  const Placement a = body_pose(robot, contact.body, q);
  const CollisionShape &own = *robot.bodies[contact.body].shape.exact;
  const ShapeView &shape =
      contact.with_object ? checker.scene().view().objects[contact.other].shape : robot.bodies[contact.other].shape;
  const Placement b =
      contact.with_object ? checker.scene().view().objects[contact.other].exact : body_pose(robot, contact.other, q);
  const Placement b_in_a = relative(a, b);
  if (direction[0] == 0 && direction[1] == 0 && direction[2] == 0)
    for (int i = 0; i < 3; ++i) direction[i] = -b_in_a.p[i];
  return hull_distance(own, *shape.exact, b_in_a, direction);
}

// What is in the way, as a row: how each joint changes the distance to it. False where hulls overlap, or it is known.
bool MotionGuard::add_row(const Step &step) {
  if (contact_.body < 0 || int(rows_.size()) >= kMostRows) return false;
  for (const Row &row : rows_)
    if (row.contact == contact_) return false;
  std::copy(step.q, step.q + dof_, place_.begin());
  double direction[3] = {0, 0, 0}, own[3];
  const double here = distance(contact_, place_.data(), direction);
  if (here < kOverlap) return false;
  const double wanted = (contact_.moving ? moving_model_ : standing_model_)->options().margin + kBuffer;
  Row row{contact_, std::vector<double>(size_t(dof_)), 0.0, kRetreat * std::max(0.0, wanted - here)};
  for (int i = 0; i < dof_; ++i) {
    if (!(step.velocity[i] > 0)) continue;
    place_[size_t(i)] += kSlopeStep;
    std::copy(direction, direction + 3, own);
    row.slope[size_t(i)] = (distance(contact_, place_.data(), own) - here) / kSlopeStep;
    place_[size_t(i)] = step.q[i];
    row.rate += row.slope[size_t(i)] * wanted_[size_t(i)];
  }
  rows_.push_back(std::move(row));
  return true;
}

// The wanted step with a share of its motion towards what is in the way, nearest in the measure of velocity limits;
// with a negative share: one that goes away from it where it is too near.
void MotionGuard::project(const Step &step, double share, double *change) const {
  std::copy(wanted_.begin(), wanted_.end(), change);
  for (int round = 0; round < 8; ++round)
    for (const Row &row : rows_) {
      double rate = 0, weight = 0;
      for (int i = 0; i < dof_; ++i) {
        const double scaled = row.slope[size_t(i)] * step.velocity[i];
        rate += row.slope[size_t(i)] * change[i], weight += scaled * scaled;
      }
      const double wanted = share < 0 ? row.retreat : std::min(0.0, row.rate) * share;
      if (rate >= wanted || !(weight > 0)) continue;
      for (int i = 0; i < dof_; ++i) {
        const double moved =
            change[i] + (wanted - rate) / weight * row.slope[size_t(i)] * step.velocity[i] * step.velocity[i];
        change[i] = std::clamp(moved, low_[size_t(i)], high_[size_t(i)]);
      }
    }
}

// Of the steps in trials_, from one on, the first that is proved as a whole at a clearance; -1: none.
int MotionGuard::prove_any(const Step &step, int first, int count, double clearance) {
  const size_t n = size_t(dof_);
  for (int lane = 0; lane < count; ++lane) {
    double steps = 0;
    for (size_t i = 0; i < n; ++i) {
      const double change = trials_[size_t(lane) * n + i], A = step.acceleration[i];
      const double own = steps_to_rest(change, A), way = brake_offset(change, A, own);
      q_[size_t(lane) * n + i] = step.q[i] + 0.5 * way;
      spread_[size_t(lane) * n + i] = 0.5 * std::fabs(way) + kSlack;
      steps = std::max(steps, own);
    }
    extra_[lane] = speed_ * (step.dt * (steps + 1) + latency_);
  }
  const unsigned all = ((1u << count) - 1) & ~((1u << first) - 1);
  const unsigned proved = ~unproved(count, clearance) & all;
  return proved == 0 ? -1 : __builtin_ctz(proved);
}

// Writes the steps that are tried, those that keep most of the wanted one first: number of them.
int MotionGuard::make_trials(const Step &step) {
  const size_t n = size_t(dof_);
  int count = 0;
  if (!rows_.empty())
    for (const double share : {kKept[0], kKept[1], kKept[2], kKept[3], -1.0})
      project(step, share, trials_.data() + size_t(count++) * n);
  const double *last = count > 0 ? trials_.data() + size_t(count - 1) * n : wanted_.data();
  for (const double share : kSlower) {
    for (size_t i = 0; i < n; ++i) trials_[size_t(count) * n + i] = brake_[i] + share * (last[i] - brake_[i]);
    ++count;
  }
  return count;
}

GuardEnd MotionGuard::slide(const Step &step) {
  const size_t n = size_t(dof_);
  for (int i = 0; i < dof_; ++i) {
    const StepRange range =
        range_of_step(step.q[i], step.last[i], step.lower[i], step.upper[i], step.velocity[i], step.acceleration[i]);
    low_[size_t(i)] = range.low, high_[size_t(i)] = range.high;
    brake_[size_t(i)] = brake_step(step.last[i], step.acceleration[i]);
  }
  std::copy(step.change, step.change + dof_, wanted_.begin());
  rows_.clear();
  for (int round = 0; round < kMostRows; ++round) {
    if (!add_row(step) && round > 0) break;
    const int count = make_trials(step);
    int found = prove_any(step, 0, count, kBuffer);
    for (const int trial : kInPieces) {
      if (found >= 0 || trial >= count) break;
      const double *change = trials_.data() + size_t(trial) * n;
      double steps = 0;
      for (int i = 0; i < dof_; ++i) steps = std::max(steps, steps_to_rest(change[i], step.acceleration[i]));
      if (steps > kShort && prove_pieces(step, change, steps)) found = trial;
    }
    if (found < 0 && !rows_.empty()) found = prove_any(step, kAway, count, 0.0);
    if (found >= 0) {
      std::copy_n(trials_.begin() + long(size_t(found) * n), n, step.change);
      return GuardEnd::slid;
    }
  }
  std::copy(brake_.begin(), brake_.end(), step.change);
  return GuardEnd::braked;
}

}  // namespace memetik
