#include "goals/problem.h"

#include <algorithm>
#include <cmath>

#include "base/angles.h"
#include "goals/problem_checks.h"
#include "goals/user_function.h"
#include "tree/placement.h"

namespace memetik {
namespace {

// The frames that a user's compiled goal looks at.
std::vector<int> user_frames(const TermSpec &spec) {
  if (spec.kind != TermKind::compiled) return {};
  const UserFunction function(spec.data.data(), spec.rows);
  return {function.frames, function.frames + function.links};
}

// Numbers a lane keeps for a term from one evaluation to the next.
int guesses_of(const std::vector<GeometryView> &geometries, const TermSpec &spec) {
  if (!uses_geometry(spec.kind) || spec.kind == TermKind::project_axis) return 0;
  const GeometryView &geometry = geometries[size_t(spec.data[0])];
  return spec.kind == TermKind::touch ? geometry.hull_count : geometry.surface_count;
}

// Whether the same configuration is reached again after a full turn: where an entry of q only turns axes, each a whole
// number of times, and no hard goal speaks of its value.
std::vector<char> find_periodic(const ProblemSpec &spec) {
  const TreeView t = spec.tree->view();
  std::vector<char> periodic(size_t(t.dof), 1);
  for (int a = 0; a < t.axis_count; ++a) {
    const Axis &axis = t.axes[a];
    if (axis.prismatic || axis.multiplier != std::nearbyint(axis.multiplier)) periodic[size_t(axis.variable)] = 0;
  }
  for (const TermSpec &term : spec.terms)
    if (uses_joints(term.kind) && term.priority == 0)
      for (int entry : term.entries) periodic[size_t(entry)] = 0;
  return periodic;
}

}  // namespace

int count_demands(const TermSpec &spec, const Demand &demand) {
  constexpr double kNarrow = 1e-3;
  const TermRange &range = traits(spec.kind).range;
  const std::vector<double> &data = spec.data;
  const size_t stride = size_t(range.stride), lower = size_t(range.lower), upper = size_t(range.upper);
  const size_t ranges = range.count < 0 ? data.size() / stride : size_t(range.count);
  int narrow = 0;
  for (size_t k = 0; demand.most > 0 && k < ranges; ++k)
    narrow += data[upper + k * stride] - data[lower + k * stride] < kNarrow;
  const int found = demand.fixed + std::min(narrow, demand.most);
  if (demand.free_axis < 0) return found;
  const double *axis = data.data() + demand.free_axis;
  return axis[0] == 0 && axis[1] == 0 && axis[2] == 0 ? found : found - 1;
}

Problem::Problem(const ProblemSpec &spec)
    : full_lower_(spec.lower), full_upper_(spec.upper), targets_(spec.targets), geometries_(spec.geometries) {
  check_problem(spec);
  dof_ = spec.tree->view().dof;
  for (const auto &geometry : geometries_) geometry_views_.push_back(geometry->view());
  for (const TermSpec &term : spec.terms) {
    goals_ = std::max(goals_, term.goal + 1);
    callbacks_ += term.kind == TermKind::callback;
    manipulabilities_ += term.kind == TermKind::manipulability;
    contacts_ += term.kind == TermKind::contacts;
    projects_ += term.kind == TermKind::project_point;
    if (term.priority == 0) demands_ += count_demands(term, traits(term.kind).binds);
  }
  place_data(spec);
  Selection selection = select_axes(spec);
  add_axes(spec, selection);
  if (selection.mass) add_bodies(spec.tree->view(), selection);
  add_frames(spec, selection);
  add_variables(spec);
  free_turns_ = find_free_turns(spec, axes_);
  // Hard goals come first in the residual, soft ones by priority after them.
  std::vector<size_t> order(spec.terms.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return spec.terms[a].priority < spec.terms[b].priority; });
  for (size_t i : order) add_term(spec.terms[i], i);
  pose_ = find_pose();
  if (pose_.point >= 0 && pose_.rotation >= 0)
    closed_form_ = find_closed_form(view(), terms_[size_t(pose_.point)].frame);
  for (const Term &term : terms_)
    if (term.priority == 0) hard_rows_ += term.rows;
}

// The terms' numbers one after the other, and where targets and seeds go among them.
void Problem::place_data(const ProblemSpec &spec) {
  for (const TermSpec &term : spec.terms) {
    offsets_.push_back(int(data_.size()));
    data_.insert(data_.end(), term.data.begin(), term.data.end());
  }
  for (const TargetCopy &copy : spec.target_copies)
    target_writes_.push_back({copy.target, copy.source, offsets_[size_t(copy.term)] + copy.destination});
  for (const SeedCopy &copy : spec.seed_copies)
    seed_writes_.push_back({copy.entry, offsets_[size_t(copy.term)] + copy.destination});
}

Problem::Selection Problem::select_axes(const ProblemSpec &spec) {
  const TreeView t = spec.tree->view();
  Selection s;
  s.used.assign(size_t(t.axis_count), 0), s.searched.assign(size_t(dof_), 0);
  const auto use = [&](int frame) {
    const int link = spec.frames[size_t(frame)].link;
    for (int a = t.links[link].axis; a >= 0 && !s.used[size_t(a)]; a = t.axes[a].parent) s.used[size_t(a)] = 1;
  };
  for (const TermSpec &term : spec.terms) {
    s.mass |= uses_mass(term.kind);
    if (term.frame >= 0) use(term.frame);
    if (term.reference >= 0) use(term.reference);
    for (int frame : user_frames(term)) use(frame);
    for (int entry : term.entries)
      // A soft goal on all joints pulls only at those that other goals move; a hard one makes its joints variables.
      if (term.priority == 0 || uses_user_code(term.kind)) s.searched[size_t(entry)] = 1;
  }
  if (s.mass) std::fill(s.used.begin(), s.used.end(), 1);
  for (int a = 0; a < t.axis_count; ++a)
    if (s.used[size_t(a)]) s.searched[size_t(t.axes[a].variable)] = 1;
  s.bodies = spec.collision;
  for (int entry : spec.named) s.searched[size_t(entry)] = 1;
  for (int entry : spec.held) s.searched[size_t(entry)] = 0;
  return s;
}

void Problem::add_axes(const ProblemSpec &spec, Selection &s) {
  const TreeView t = spec.tree->view();
  s.variable_of.assign(size_t(dof_), -1), moving_.assign(size_t(dof_), 0);
  for (int entry = 0; entry < dof_; ++entry) {
    if (!s.searched[size_t(entry)]) continue;
    s.variable_of[size_t(entry)] = int(q_index_.size());
    q_index_.push_back(entry), moving_[size_t(entry)] = 1;
  }
  s.active.assign(size_t(t.axis_count), -1);
  const auto add = [&](int a) {
    ActiveAxis axis{t.axes[a], t.axes[a].variable};
    axis.axis.parent = axis.axis.parent < 0 ? -1 : s.active[size_t(axis.axis.parent)];
    axis.axis.variable = s.variable_of[size_t(axis.source)];
    s.active[size_t(a)] = int(axes_.size());
    axes_.push_back(axis);
  };
  for (int a = 0; a < t.axis_count; ++a)
    if (s.used[size_t(a)]) add(a);
  goal_axes_ = int(axes_.size());
  // Axes that move nothing but bodies; those without a variable stay as the seed has them.
  for (int a = 0; s.bodies && a < t.axis_count; ++a)
    if (!s.used[size_t(a)]) add(a);
  if (!spec.collision) return;
  for (int a = 0; a < t.axis_count; ++a) {
    const Axis &axis = t.axes[a];
    collision_axes_.push_back(
        {s.active[size_t(a)], axis.parent, s.variable_of[size_t(axis.variable)], axis.prismatic, axis.multiplier});
  }
}

void Problem::add_bodies(const TreeView &t, const Selection &s) {
  for (int a = 0; a < t.axis_count; ++a) {
    const AxisBody &body = t.bodies[a];
    if (s.used[size_t(a)] && body.mass > 0)
      bodies_.push_back({body.mass,
                         {body.moment[0] / body.mass, body.moment[1] / body.mass, body.moment[2] / body.mass},
                         s.active[size_t(a)]});
  }
  total_mass_ = t.mass;
  if (!(total_mass_ > 0)) refuse("a goal on balance or effort needs masses, and this robot has none.");
  if (bodies_.empty()) bodies_.push_back({0.0, {0, 0, 0}, 0});
  if (axes_.empty()) refuse("a goal on balance or effort needs a joint that can move.");
  for (int k = 0; k < 3; ++k) fixed_moment_[k] = t.base.moment[k];
}

void Problem::add_frames(const ProblemSpec &spec, const Selection &s) {
  const TreeView t = spec.tree->view();
  for (const FrameSpec &frame : spec.frames) {
    const LinkFrame &link = t.links[frame.link];
    const bool needed = link.axis >= 0 && s.used[size_t(link.axis)];
    points_.push_back({product(link.placement, frame.placement), needed ? s.active[size_t(link.axis)] : -1});
  }
}

void Problem::add_variables(const ProblemSpec &spec) {
  const std::vector<char> periodic = find_periodic(spec);
  for (int source : q_index_) {
    const double lower = full_lower_[size_t(source)], upper = full_upper_[size_t(source)];
    const bool endless = std::isinf(lower) || std::isinf(upper);
    lower_.push_back(lower), upper_.push_back(upper);
    continuous_.push_back(std::isinf(lower) && std::isinf(upper));
    spans_full_turn_.push_back(periodic[size_t(source)] && !endless && upper - lower >= 0.9999 * kFullTurn);
    // Without limits on a revolute joint one turn holds every configuration; on a prismatic one, some metres about
    // zero.
    const double centre = std::isinf(lower) ? (std::isinf(upper) ? 0.0 : upper - kFullTurn / 2) : lower + kFullTurn / 2;
    sample_lower_.push_back(endless ? centre - kFullTurn / 2 : lower);
    sample_upper_.push_back(endless ? centre + kFullTurn / 2 : upper);
    periodic_.push_back(periodic[size_t(source)]);
  }
}

int Problem::variable_at(int entry) const {
  const auto found = std::find(q_index_.begin(), q_index_.end(), entry);
  return found == q_index_.end() ? -1 : int(found - q_index_.begin());
}

void Problem::add_term(const TermSpec &spec, size_t index) {
  Term term{};
  term.kind = spec.kind, term.loss = spec.loss.kind, term.goal = spec.goal;
  term.frame = spec.frame, term.reference = spec.reference;
  term.priority = spec.priority, term.weight = spec.weight, term.tolerance = spec.tolerance;
  term.data = offsets_[index], term.data_size = int(spec.data.size());
  std::copy(spec.loss.parameters.begin(), spec.loss.parameters.end(), term.loss_data);
  term.guess = spec.kind == TermKind::project_axis ? terms_.back().guess : guesses_;
  guesses_ += guesses_of(geometry_views_, spec);
  term.axes = int(term_axes_.size()), term.variables = int(term_variables_.size());
  term.rows = traits(spec.kind).rows >= 0 ? traits(spec.kind).rows : spec.rows;

  std::vector<int> variables;
  switch (traits(spec.kind).input) {
    case TermInput::frame:
    case TermInput::geometry:
    case TermInput::chain:
      add_frame_axes(spec, variables);
      break;
    case TermInput::mass:
      for (int a = 0; a < int(axes_.size()); ++a) add_axis(a, 1.0, variables);
      break;
    case TermInput::joints:
      place_joints(spec, term, variables);
      term.rows = int(variables.size());
      if (!std::is_sorted(variables.begin(), variables.end()))
        refuse("a joint goal must list its joints in the order of q.");
      break;
    case TermInput::compiled:
    case TermInput::callback:
      add_user_variables(spec, term, variables);
      break;
    case TermInput::contacts:
      for (int i = 0; i < int(q_index_.size()); ++i) variables.push_back(i);
      break;
  }
  if (traits(spec.kind).input != TermInput::joints) {
    std::sort(variables.begin(), variables.end());
    variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  }
  if (spec.kind == TermKind::effort) {
    term.rows = int(variables.size());
    for (size_t k = 0; k < variables.size(); ++k)
      data_[size_t(term.data) + 3 + k] = spec.data[3 + size_t(q_index_[size_t(variables[k])])];
  }
  term.axis_count = int(term_axes_.size()) - term.axes;
  term.variable_count = int(variables.size());
  term_variables_.insert(term_variables_.end(), variables.begin(), variables.end());
  term.row = rows_;
  rows_ += term.rows;
  if (rows_ > 20000) refuse("a problem may have at most 20000 rows.");
  terms_.push_back(term);
}

void Problem::add_axis(int a, double sign, std::vector<int> &variables) {
  const Axis &axis = axes_[size_t(a)].axis;
  if (axis.variable < 0) return;
  term_axes_.push_back({a, axis.variable, sign * axis.multiplier, sign < 0});
  variables.push_back(axis.variable);
}

void Problem::add_frame_axes(const TermSpec &spec, std::vector<int> &variables) {
  const auto path_to = [&](int frame) {
    std::vector<int> path;
    for (int a = frame < 0 ? -1 : points_[size_t(frame)].axis; a >= 0; a = axes_[size_t(a)].axis.parent)
      path.push_back(a);
    std::reverse(path.begin(), path.end());
    return path;
  };
  const std::vector<int> path = path_to(spec.frame), reference = path_to(spec.reference);
  // What carries both frames moves neither seen from the other. A chain may begin nearer to the base than both.
  size_t common = 0;
  while (spec.kind != TermKind::pivot_chain && common < path.size() && common < reference.size() &&
         path[common] == reference[common])
    ++common;
  for (size_t k = common; k < path.size(); ++k) add_axis(path[k], 1.0, variables);
  for (size_t k = common; k < reference.size(); ++k) add_axis(reference[k], -1.0, variables);
}

void Problem::add_user_variables(const TermSpec &spec, const Term &term, std::vector<int> &variables) {
  for (int frame : user_frames(spec))
    for (int a = points_[size_t(frame)].axis; a >= 0; a = axes_[size_t(a)].axis.parent)
      if (axes_[size_t(a)].axis.variable >= 0) variables.push_back(axes_[size_t(a)].axis.variable);
  if (spec.kind == TermKind::compiled) {
    const UserFunction function(spec.data.data(), spec.rows);
    double *out = data_.data() + term.data + (function.variables - spec.data.data());
    for (int j = 0; j < function.joints; ++j) out[j] = double(variable_at(int(function.entries[j])));
  }
  for (int entry : spec.entries)
    if (const int variable = variable_at(entry); variable >= 0) variables.push_back(variable);
}

void Problem::add_held_errors(const double *data, const double *q, double *errors) const {
  for (const HeldJoint &joint : held_joints_) {
    const double *d = data + joint.data;
    const double r = d[0] * (q[joint.entry] - d[1]);
    const double beyond = r > d[3] ? r - d[3] : r < d[2] ? d[2] - r : r == r ? 0.0 : r;
    errors[joint.term] = std::hypot(errors[joint.term], beyond);
  }
}

// Joints that are variables come first in the term's block, in the order of q. Those that are held follow: they have no
// rows, and a hard goal still has to hold for them. Targets and values of the seed move along with their joint.
void Problem::place_joints(const TermSpec &spec, const Term &term, std::vector<int> &variables) {
  std::vector<size_t> place(spec.entries.size()), held;
  for (size_t k = 0; k < spec.entries.size(); ++k) {
    const int variable = variable_at(spec.entries[k]);
    if (variable < 0) {
      held.push_back(k);
    } else {
      place[k] = variables.size();
      variables.push_back(variable);
    }
  }
  for (size_t h = 0; h < held.size(); ++h) {
    place[held[h]] = variables.size() + h;
    const int data = term.data + 4 * int(place[held[h]]);
    if (spec.priority == 0) held_joints_.push_back({int(terms_.size()), spec.entries[held[h]], data});
  }
  if (held.empty()) return;
  const auto moved = [&](int to) {
    if (to < term.data || to >= term.data + term.data_size) return to;
    return term.data + 4 * int(place[size_t(to - term.data) / 4]) + (to - term.data) % 4;
  };
  for (TargetWrite &write : target_writes_) write.to = moved(write.to);
  for (SeedWrite &write : seed_writes_) write.to = moved(write.to);
  for (size_t k = 0; k < place.size(); ++k)
    std::copy(spec.data.begin() + long(4 * k), spec.data.begin() + long(4 * k + 4),
              data_.begin() + term.data + long(4 * place[k]));
}

PoseView Problem::find_pose() const {
  PoseView pose{-1, -1};
  const PoseView none{-1, -1};
  for (int t = 0; t < int(terms_.size()); ++t) {
    const Term &term = terms_[size_t(t)];
    if (term.priority != 0 || term.loss != Loss::square || term.reference >= 0 || term.frame != terms_[0].frame)
      return none;
    if (term.kind == TermKind::rotation && pose.rotation < 0) {
      pose.rotation = t;
    } else if (term.kind == TermKind::point && pose.point < 0) {
      pose.point = t;
      // In the world's axes and without ranges: the first nine numbers are a unit matrix, the last six zero.
      const double *d = data_.data() + term.data;
      for (int k = 0; k < 18; ++k)
        if (k < 9 ? d[k] != (k % 4 == 0) : k >= 12 && d[k] != 0) return none;
      for (const TargetWrite &write : target_writes_)
        if (write.to >= term.data && write.to < term.data + 18 &&
            (write.to < term.data + 9 || write.to >= term.data + 12))
          return none;
    } else {
      return none;
    }
  }
  return q_index_.empty() || !held_joints_.empty() ? none : pose;
}

ProblemView Problem::view() const {
  ProblemView v{};
  v.axes = axes_.data(), v.frames = points_.data(), v.terms = terms_.data();
  v.term_axes = term_axes_.data(), v.term_variables = term_variables_.data(), v.bodies = bodies_.data();
  v.lower = lower_.data(), v.upper = upper_.data();
  v.sample_lower = sample_lower_.data(), v.sample_upper = sample_upper_.data();
  v.q_index = q_index_.data(), v.continuous = continuous_.data(), v.spans_full_turn = spans_full_turn_.data();
  v.axis_count = int(axes_.size()), v.goal_axis_count = goal_axes_, v.frame_count = int(points_.size()),
  v.term_count = int(terms_.size());
  v.term_axis_count = int(term_axes_.size()), v.body_count = int(bodies_.size());
  v.variable_count = int(q_index_.size()), v.dof = dof_, v.row_count = rows_, v.hard_rows = hard_rows_;
  v.data_size = int(data_.size()), v.goal_count = goals_, v.callback_count = callbacks_,
  v.manipulability_count = manipulabilities_;
  v.geometries = geometry_views_.data(), v.contact_count = contacts_, v.project_count = projects_,
  v.guess_count = guesses_;
  v.total_mass = total_mass_;
  std::copy(fixed_moment_, fixed_moment_ + 3, v.fixed_moment);
  return v;
}

}  // namespace memetik
