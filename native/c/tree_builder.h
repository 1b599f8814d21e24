// A tree put together link by link and joint by joint, in any order, as descriptions of robots come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tree/owned_tree.h"

namespace memetik {

// A tree with names and limits. Immutable, shared between threads.
struct NamedTree {
  std::shared_ptr<const Tree> tree;
  std::vector<std::string> links, joints;  // joints: one name per entry of q
  std::vector<double> lower, upper, neutral;

  int find_link(const std::string &name) const;   // -1: there is none
  int find_joint(const std::string &name) const;  // -1: there is none, or it has no entry of its own
};

enum class JointKind { fixed, revolute, continuous, prismatic };

struct JointSpec {
  std::string name, parent, child;
  JointKind kind = JointKind::fixed;
  Placement origin{};
  double axis[3] = {1, 0, 0};
  std::string mimic;  // empty: none
  double multiplier = 1, offset = 0;
  double lower, upper;
};

// Its functions throw std::invalid_argument with a sentence where a part is refused.
class TreeBuilder {
 public:
  int add_link(const std::string &name);
  int add_joint(JointSpec joint);
  void set_limits(const std::string &joint, double lower, double upper);
  NamedTree build() const;

 private:
  std::vector<std::string> links_;
  std::vector<JointSpec> joints_;
};

// The middle of the limits; where one is infinite, the value nearest to zero.
double neutral_value(double lower, double upper);

}  // namespace memetik
