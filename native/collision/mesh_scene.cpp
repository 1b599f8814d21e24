#include "collision/mesh_scene.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace memetik {
namespace {

constexpr double kUnit = 5.960464477539063e-8;  // 2^-24
constexpr float kEndless = 1e30f;

}  // namespace

MeshScene::MeshScene(const MeshRobot &robot, std::vector<MeshObjectSpec> objects)
    : objects_(std::move(objects)), reach_(robot.reach()) {
  std::copy(robot.origin(), robot.origin() + 3, origin_);
  for (const MeshObjectSpec &object : objects_) {
    if (object.shape == nullptr) throw std::invalid_argument("An object needs a shape.");
    if (!(object.padding >= 0 && object.padding <= 1e3)) throw std::invalid_argument("padding must be from 0 to 1000 m.");
    check_rigid(object.pose);
  }
  views_.resize(objects_.size());
  for (size_t k = 0; k < objects_.size(); ++k) place(int(k));
  sort();
}

void MeshScene::place(int object) {
  const MeshObjectSpec &spec = objects_[size_t(object)];
  ObjectView &view = views_[size_t(object)];
  view.shape = view_of(*spec.shape);
  view.exact = spec.pose;
  double largest = 0, distance = 0;
  for (int i = 0; i < 3; ++i) {
    view.exact.p[i] -= origin_[i];
    distance = std::max(distance, std::fabs(view.exact.p[i]));
    if (std::isfinite(view.shape.half[i]))
      largest = std::max(largest, double(view.shape.half[i] + std::fabs(view.shape.centre[i])));
  }
  view.pose = view_of(view.exact);
  view.padding = float(spec.padding);
  // Points of the robot are mapped into the object's frame: a few roundings of numbers no larger than this.
  view.rounding = float(16 * kUnit * (2 * distance + largest + reach_ + spec.padding));
}

// Neighbours in space become neighbours in order: positions on a curve that fills it.
void MeshScene::sort() {
  const size_t count = objects_.size();
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (const ObjectView &view : views_)
    for (int i = 0; i < 3; ++i) low[i] = std::min(low[i], view.exact.p[i]), high[i] = std::max(high[i], view.exact.p[i]);
  std::vector<uint64_t> codes(count);
  for (size_t k = 0; k < count; ++k)
    for (int i = 0; i < 3; ++i) {
      const double share = high[i] > low[i] ? (views_[k].exact.p[i] - low[i]) / (high[i] - low[i]) : 0.0;
      const uint64_t cell = uint64_t(share * 1023);
      for (int bit = 0; bit < 10; ++bit) codes[k] |= (cell >> bit & 1) << (3 * bit + i);
    }
  order_.resize(count), position_.resize(count);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int32_t a, int32_t b) { return codes[size_t(a)] < codes[size_t(b)]; });
  for (size_t k = 0; k < count; ++k) position_[size_t(order_[k])] = int32_t(k);
  levels_.clear();
  if (count == 0) return;
  for (size_t boxes = (count + 7) / 8;; boxes = (boxes + 7) / 8) {
    BoxLanes nowhere;
    std::fill_n(&nowhere.low[0][0], 24, kEndless);
    std::fill_n(&nowhere.high[0][0], 24, -kEndless);
    levels_.emplace_back(boxes, nowhere);
    if (boxes == 1) break;
  }
  for (size_t k = 0; k < count; ++k) box(int(k));
  for (size_t level = 1; level < levels_.size(); ++level)
    for (size_t k = 0; k < levels_[level - 1].size(); ++k) enclose(int(level), int(k));
}

void MeshScene::box(int position) {
  const ObjectView &view = views_[size_t(order_[size_t(position)])];
  BoxLanes &lanes = levels_[0][size_t(position / 8)];
  for (int i = 0; i < 3; ++i) {
    double centre = view.exact.p[i], half = view.padding;
    for (int k = 0; k < 3; ++k) {
      centre += view.exact.R[3 * i + k] * view.shape.centre[k];
      half += std::fabs(view.exact.R[3 * i + k]) * view.shape.half[k];
    }
    const bool endless = !std::isfinite(half);
    lanes.low[i][position % 8] = endless ? -kEndless : float(centre - half - view.rounding);
    lanes.high[i][position % 8] = endless ? kEndless : float(centre + half + view.rounding);
  }
}

void MeshScene::enclose(int level, int child) {
  const BoxLanes &below = levels_[size_t(level - 1)][size_t(child)];
  BoxLanes &lanes = levels_[size_t(level)][size_t(child / 8)];
  for (int i = 0; i < 3; ++i) {
    lanes.low[i][child % 8] = *std::min_element(below.low[i], below.low[i] + 8);
    lanes.high[i][child % 8] = *std::max_element(below.high[i], below.high[i] + 8);
  }
}

std::shared_ptr<const MeshScene> MeshScene::moved(int object, const Placement &pose) const {
  if (object < 0 || size_t(object) >= objects_.size()) throw std::invalid_argument("There is no such object.");
  check_rigid(pose);
  std::shared_ptr<MeshScene> other(new MeshScene(*this));
  other->objects_[size_t(object)].pose = pose;
  other->place(object);
  int place = position_[size_t(object)];
  other->box(place);
  for (size_t level = 1; level < levels_.size(); ++level) {
    place /= 8;
    other->enclose(int(level), place);
  }
  return other;
}

std::shared_ptr<const MeshScene> MeshScene::moved(const std::vector<Placement> &poses) const {
  if (poses.size() != objects_.size()) throw std::invalid_argument("There must be one pose per object.");
  for (const Placement &pose : poses) check_rigid(pose);
  std::shared_ptr<MeshScene> other(new MeshScene(*this));
  for (size_t k = 0; k < poses.size(); ++k) {
    other->objects_[k].pose = poses[k];
    other->place(int(k));
  }
  other->sort();
  return other;
}

MeshSceneView MeshScene::view() const {
  MeshSceneView view{views_.data(), order_.data(), {}, int(levels_.size()), int(objects_.size())};
  for (size_t k = 0; k < levels_.size(); ++k) view.levels[k] = levels_[k].data();
  return view;
}

}  // namespace memetik
