#include "c/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "tree/placement.h"

namespace memetik {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMost = 10000;      // links and joints, as Tree has them
constexpr double kRounding = 1e-15;  // what is left of a zero or a one after products

[[noreturn]] void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

std::string quoted(const std::string &name) { return "'" + name + "'"; }

int find(const std::vector<std::string> &names, const std::string &name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : int(found - names.begin());
}

// The smallest rotation that takes z to a unit vector. For directions below the x-y plane it follows a half turn about
// x, which keeps it well conditioned near -z.
Placement rotation_to(double x, double y, double z) {
  if (z < 0) {
    Placement upper = rotation_to(-x, -y, -z);
    for (int r = 0; r < 3; ++r) upper.R[3 * r + 1] = -upper.R[3 * r + 1], upper.R[3 * r + 2] = -upper.R[3 * r + 2];
    return upper;
  }
  const double xy = -x * y / (1 + z);
  return {{1 - x * x / (1 + z), xy, x, xy, 1 - y * y / (1 + z), y, -x, -y, z}, {0, 0, 0}};
}

Placement transposed(const Placement &rotation) {
  Placement out{};
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = rotation.R[3 * c + r];
  return out;
}

// Rounding dust removed: kernels skip products with exact zeros and ones.
Placement tidy(Placement placement) {
  for (double &value : placement.R) {
    if (std::abs(value) < kRounding) value = 0;
    if (std::abs(std::abs(value) - 1) < kRounding) value = value < 0 ? -1 : 1;
  }
  for (double &value : placement.p)
    if (std::abs(value) < kRounding) value = 0;
  return placement;
}

// How a joint depends on q.
struct Coupling {
  int entry = -1;  // -1: it does not move
  double multiplier = 1, offset = 0;
};

// Entries of q in the order of the joints; mimic joints resolved to the joint that they follow in the end.
class Couplings {
 public:
  Couplings(const std::vector<JointSpec> &joints, NamedTree &tree) : joints_(joints) {
    for (size_t k = 0; k < joints.size(); ++k) index_[joints[k].name] = k;
    of_.resize(joints.size());
    for (size_t k = 0; k < joints.size(); ++k) {
      const JointSpec &joint = joints[k];
      if (joint.kind == JointKind::fixed || !joint.mimic.empty()) continue;
      of_[k].entry = int(tree.joints.size());
      tree.joints.push_back(joint.name);
      const bool bounded = joint.kind != JointKind::continuous;
      tree.lower.push_back(bounded ? joint.lower : -kInfinity);
      tree.upper.push_back(bounded ? joint.upper : kInfinity);
    }
    for (size_t k = 0; k < joints.size(); ++k)
      if (!joints[k].mimic.empty() && joints[k].kind != JointKind::fixed) follow(k, tree);
  }
  const Coupling &operator[](size_t joint) const { return of_[joint]; }

 private:
  void follow(size_t follower, NamedTree &tree) {
    Coupling &own = of_[follower];
    size_t k = follower;
    for (size_t steps = 0; !joints_[k].mimic.empty(); ++steps) {
      const JointSpec &joint = joints_[k];
      const auto master = index_.find(joint.mimic);
      if (master == index_.end())
        refuse("joint " + quoted(joint.name) + " follows " + quoted(joint.mimic) + ", which was not added.");
      if (steps > joints_.size()) refuse("joint " + quoted(joint.name) + " follows itself in the end.");
      own.offset += own.multiplier * joint.offset;
      own.multiplier *= joint.multiplier;
      k = master->second;
    }
    own.entry = of_[k].entry;
    if (own.entry < 0) refuse("joint " + quoted(joints_[follower].name) + " follows a fixed joint.");
    const JointSpec &joint = joints_[follower];
    if (joint.kind == JointKind::continuous || own.multiplier == 0) return;
    const double a = (joint.lower - own.offset) / own.multiplier, b = (joint.upper - own.offset) / own.multiplier;
    double &lower = tree.lower[size_t(own.entry)], &upper = tree.upper[size_t(own.entry)];
    const double least = std::max(std::min(a, b), lower), most = std::min(std::max(a, b), upper);
    if (a != b && least < most) lower = least, upper = most;
  }

  const std::vector<JointSpec> &joints_;
  std::map<std::string, size_t> index_;
  std::vector<Coupling> of_;
};

}  // namespace

int NamedTree::find_link(const std::string &name) const { return find(links, name); }
int NamedTree::find_joint(const std::string &name) const { return find(joints, name); }

double neutral_value(double lower, double upper) {
  if (std::isfinite(lower) && std::isfinite(upper)) return 0.5 * (lower + upper);
  return std::min(std::max(0.0, lower), upper);
}

int TreeBuilder::add_link(const std::string &name) {
  if (name.empty()) refuse("a link needs a name.");
  if (find(links_, name) >= 0) refuse("link " + quoted(name) + " was added before.");
  if (links_.size() >= kMost) refuse("a robot has at most " + std::to_string(kMost) + " links.");
  links_.push_back(name);
  return int(links_.size()) - 1;
}

int TreeBuilder::add_joint(JointSpec joint) {
  if (joint.name.empty()) refuse("a joint needs a name.");
  const std::string who = "joint " + quoted(joint.name);
  for (const JointSpec &other : joints_)
    if (other.name == joint.name) refuse(who + " was added before.");
  if (joints_.size() >= kMost) refuse("a robot has at most " + std::to_string(kMost) + " joints.");
  double length = 0;
  for (double value : joint.axis) length += value * value;
  length = std::sqrt(length);
  if (joint.kind != JointKind::fixed && !(length > 1e-9 && std::isfinite(length)))
    refuse("the axis of " + who + " must be a finite vector that is not zero.");
  for (double &value : joint.axis) value = joint.kind == JointKind::fixed ? 0 : value / length;
  if (!std::isfinite(joint.multiplier) || !std::isfinite(joint.offset))
    refuse("multiplier and offset of " + who + " must be finite.");
  joint.lower = -kInfinity, joint.upper = kInfinity;
  joints_.push_back(std::move(joint));
  return int(joints_.size()) - 1;
}

void TreeBuilder::set_limits(const std::string &name, double lower, double upper) {
  for (JointSpec &joint : joints_)
    if (joint.name == name) {
      if (!(lower <= upper))
        refuse("the lower limit of joint " + quoted(name) +
               " must not exceed its upper limit: " + std::to_string(lower) + " and " + std::to_string(upper) + ".");
      joint.lower = lower, joint.upper = upper;
      return;
    }
  refuse("joint " + quoted(name) + " was not added: it can have no limits.");
}

NamedTree TreeBuilder::build() const {
  NamedTree named;
  named.links = links_;
  const Couplings couplings(joints_, named);
  std::map<std::string, std::vector<size_t>> below;
  std::vector<char> has_parent(links_.size());
  for (size_t k = 0; k < joints_.size(); ++k) {
    const int parent = find(links_, joints_[k].parent), child = find(links_, joints_[k].child);
    const std::string who = "joint " + quoted(joints_[k].name);
    if (parent < 0) refuse(who + " hangs on link " + quoted(joints_[k].parent) + ", which was not added.");
    if (child < 0) refuse(who + " carries link " + quoted(joints_[k].child) + ", which was not added.");
    if (has_parent[size_t(child)]) refuse("link " + quoted(joints_[k].child) + " hangs on two joints.");
    has_parent[size_t(child)] = 1;
    below[joints_[k].parent].push_back(k);
  }
  const Placement identity{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  std::vector<Axis> axes;
  std::vector<LinkFrame> frames(links_.size(), {identity, -1});
  std::vector<std::string> open;
  for (size_t k = 0; k < links_.size(); ++k)
    if (!has_parent[k]) open.push_back(links_[k]);
  if (open.size() != 1)
    refuse("a robot has one root, a link that hangs on no joint; here are " + std::to_string(open.size()) + ".");
  size_t reached = 0;
  for (; !open.empty(); ++reached) {
    const std::string link = open.back();
    open.pop_back();
    const LinkFrame from = frames[size_t(find(links_, link))];
    for (size_t k : below[link]) {
      const JointSpec &joint = joints_[k];
      LinkFrame &frame = frames[size_t(find(links_, joint.child))];
      frame = {product(from.placement, joint.origin), from.axis};
      if (couplings[k].entry >= 0) {
        const Placement turn = rotation_to(joint.axis[0], joint.axis[1], joint.axis[2]);
        axes.push_back({tidy(product(frame.placement, turn)), couplings[k].multiplier, couplings[k].offset, from.axis,
                        couplings[k].entry, joint.kind == JointKind::prismatic});
        frame = {transposed(turn), int(axes.size()) - 1};
      }
      open.push_back(joint.child);
    }
  }
  if (reached != links_.size()) refuse("the joints do not lead from the root to every link.");
  for (LinkFrame &frame : frames) frame.placement = tidy(frame.placement);
  for (size_t k = 0; k < named.lower.size(); ++k)
    named.neutral.push_back(neutral_value(named.lower[k], named.upper[k]));
  const Inertia massless{0.0, {0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0}};
  named.tree = std::make_shared<const Tree>(std::move(axes), std::move(frames),
                                            std::vector<Inertia>(links_.size(), massless), int(named.joints.size()));
  return named;
}

}  // namespace memetik
