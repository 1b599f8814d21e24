#include "owned_problem.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "placement.h"
#include "user_function.h"

namespace memetik {
namespace {

[[noreturn]] void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

constexpr double kTurn = 6.283185307179586;

bool uses_mass(TermKind kind) {
  return kind == TermKind::balance || kind == TermKind::support || kind == TermKind::effort;
}
bool uses_user(TermKind kind) { return kind == TermKind::compiled || kind == TermKind::callback; }
bool uses_joints(TermKind kind) { return kind == TermKind::joints || uses_user(kind); }
bool uses_frame(TermKind kind) { return !uses_mass(kind) && !uses_joints(kind) && kind != TermKind::contacts; }
bool projects(TermKind kind) { return kind == TermKind::project_point || kind == TermKind::project_axis; }
bool uses_geometry(TermKind kind) {
  return kind == TermKind::point_distance || kind == TermKind::touch || projects(kind);
}

// Size of each kind's data; -1: depends on the term.
int data_size(TermKind kind) {
  switch (kind) {
    case TermKind::point:
      return 18;
    case TermKind::rotation:
      return 9;
    case TermKind::rotation_range:
      return 15;
    case TermKind::swing_range:
      return 18;
    case TermKind::align:
    case TermKind::side:
    case TermKind::look_at:
    case TermKind::line:
      return 6;
    case TermKind::twist:
      return 14;
    case TermKind::view:
    case TermKind::incidence:
      return 7;
    case TermKind::cone:
    case TermKind::plane:
    case TermKind::pivot:
      return 8;
    case TermKind::distance:
      return 5;
    case TermKind::repulsion:
      return 4;
    case TermKind::roll_pitch_yaw:
    case TermKind::balance:
      return 9;
    case TermKind::manipulability:
      return 2;
    case TermKind::point_distance:
      return 6;
    case TermKind::touch:
      return 8;
    case TermKind::project_point:
    case TermKind::project_axis:
      return 26;
    case TermKind::contacts:
    case TermKind::support:
    case TermKind::joints:
    case TermKind::effort:
    case TermKind::pivot_chain:
    case TermKind::compiled:
    case TermKind::callback:
      return -1;
  }
  refuse("a term has an unknown kind.");
}

int row_count(TermKind kind) {
  switch (kind) {
    case TermKind::point:
    case TermKind::rotation:
    case TermKind::rotation_range:
    case TermKind::swing_range:
    case TermKind::align:
    case TermKind::look_at:
    case TermKind::line:
    case TermKind::roll_pitch_yaw:
    case TermKind::pivot:
    case TermKind::pivot_chain:
    case TermKind::project_point:
    case TermKind::project_axis:
    case TermKind::balance:
      return 3;
    case TermKind::point_distance:
    case TermKind::touch:
    case TermKind::contacts:
    case TermKind::twist:
    case TermKind::cone:
    case TermKind::side:
    case TermKind::plane:
    case TermKind::distance:
    case TermKind::repulsion:
    case TermKind::view:
    case TermKind::incidence:
    case TermKind::manipulability:
      return 1;
    default:
      return -1;
  }
}

// The frames that a user's compiled goal looks at.
std::vector<int> user_frames(const TermSpec &spec) {
  if (spec.kind != TermKind::compiled) return {};
  const UserFunction function(spec.data.data(), spec.rows);
  return {function.frames, function.frames + function.links};
}

void check_chain(const TreeView &t, const std::vector<PointSpec> &points, const TermSpec &spec) {
  if (spec.data.size() < 6 || spec.data[3] != double(spec.data.size() - 4)) refuse("chain data has the wrong size.");
  for (size_t k = 4; k < spec.data.size(); ++k)
    if (!(spec.data[k] >= 0) || spec.data[k] >= double(points.size())) refuse("a chain names a missing frame.");
  if (int(spec.data.back()) != spec.frame) refuse("a chain must end at its term's frame.");
  // Each frame's axis lies on the way from the base to the next one's.
  for (size_t k = 4; k + 1 < spec.data.size(); ++k) {
    const int inner = t.links[points[size_t(spec.data[k])].link].axis;
    int outer = t.links[points[size_t(spec.data[k + 1])].link].axis;
    while (outer > inner) outer = t.axes[outer].parent;
    if (outer != inner) refuse("the links of a chain must follow each other from the base outwards.");
  }
}

void check_user_function(const std::vector<PointSpec> &points, const TermSpec &spec) {
  if (spec.data.size() < 4) refuse("a compiled goal's data has the wrong size.");
  const double links = spec.data[2], joints = spec.data[3];
  if (!(links >= 0 && links <= kMostUserLinks && joints >= 0 && joints <= kMostUserJoints &&
        spec.rows <= kMostUserRows))
    refuse("a compiled goal has at most " + std::to_string(kMostUserRows) + " rows, " + std::to_string(kMostUserLinks) +
           " links and " + std::to_string(kMostUserJoints) + " joints.");
  if (spec.data.size() != size_t(UserFunction::data_size(int(links), int(joints))))
    refuse("a compiled goal's data has the wrong size.");
  const UserFunction function(spec.data.data(), spec.rows);
  if (!function.residual) refuse("a compiled goal has no function.");
  if (spec.entries.size() != size_t(function.joints)) refuse("a compiled goal's joints and entries differ.");
  for (int j = 0; j < function.joints; ++j)
    if (int(function.entries[j]) != spec.entries[size_t(j)]) refuse("a compiled goal's joints and entries differ.");
  for (int l = 0; l < function.links; ++l)
    if (!(function.frames[l] >= 0) || function.frames[l] >= double(points.size()))
      refuse("a compiled goal names a missing frame.");
}

void check_geometry(const std::vector<GeometryView> &geometries, const TermSpec &spec) {
  if (!(spec.data[0] >= 0 && spec.data[0] < double(geometries.size())))
    refuse("a term names a geometry that is not there.");
  const GeometryView &geometry = geometries[size_t(spec.data[0])];
  const int parts = spec.kind == TermKind::touch ? geometry.primitive_count + geometry.hull_count
                    : projects(spec.kind)        ? int(geometry.surface_count == 1)
                                                 : geometry.primitive_count + geometry.surface_count;
  if (parts < 1) refuse("a term names a geometry without the parts that it needs.");
}

// A term on the axis reads what the one on the point, right before it, has met.
void check_pair(const TermSpec *before, const TermSpec &spec) {
  if (!before || before->kind != TermKind::project_point || before->frame != spec.frame ||
      before->reference != spec.reference || before->priority != spec.priority || before->data != spec.data)
    refuse("a projected axis follows its projected point.");
}

void check_contacts(const TermSpec &spec) {
  const std::vector<double> &d = spec.data;
  if (d.size() < 4 || !(d[3] >= 0) || d.size() != 4 + 2 * size_t(d[3])) refuse("contact data has the wrong size.");
  if (!(d[0] >= 0 && d[0] <= double(ContactForm::least))) refuse("a term on contacts has an unknown form.");
  const bool hinged = d[0] <= double(ContactForm::depth);
  if (!std::isfinite(d[1]) || !std::isfinite(d[2]) || (!hinged && !(d[1] > 0 && d[2] > 0)))
    refuse("scale and reach of contacts must be finite, and positive where they divide.");
}

// Numbers a lane keeps for a term from one evaluation to the next.
int guesses_of(const std::vector<GeometryView> &geometries, const TermSpec &spec) {
  if (!uses_geometry(spec.kind) || spec.kind == TermKind::project_axis) return 0;
  const GeometryView &geometry = geometries[size_t(spec.data[0])];
  return spec.kind == TermKind::touch ? geometry.hull_count : geometry.surface_count;
}

// How many joints a term binds in general. A range binds none: most postures are inside it.
int demands_of(const TermSpec &spec) {
  constexpr double kNarrow = 1e-3;
  const std::vector<double> &d = spec.data;
  const auto narrow = [&](size_t lower, size_t upper, int count) {
    int found = 0;
    for (int k = 0; k < count; ++k) found += d[upper + size_t(k)] - d[lower + size_t(k)] < kNarrow;
    return found;
  };
  switch (spec.kind) {
    case TermKind::point:
      return narrow(12, 15, 3);
    case TermKind::rotation:
      return 3;
    case TermKind::rotation_range:
      return narrow(9, 12, 3);
    case TermKind::roll_pitch_yaw:
      return narrow(3, 6, 3);
    case TermKind::swing_range:
      return narrow(12, 15, 3);
    case TermKind::twist:
      return narrow(12, 13, 1);
    case TermKind::plane:
      return narrow(6, 7, 1);
    case TermKind::distance:
      return narrow(3, 4, 1);
    case TermKind::point_distance:
      return narrow(4, 5, 1);
    case TermKind::touch:
    case TermKind::project_point:
      return 1;
    case TermKind::project_axis:
    case TermKind::align:
    case TermKind::look_at:
    case TermKind::line:
    case TermKind::pivot:
      return 2;
    case TermKind::balance:
      return d[6] == 0 && d[7] == 0 && d[8] == 0 ? 2 : 1;
    case TermKind::joints: {
      int found = 0;
      for (size_t k = 0; k + 3 < d.size(); k += 4) found += d[k + 3] - d[k + 2] < kNarrow;
      return found;
    }
    default:
      return 0;
  }
}

}  // namespace

Problem::Problem(const Tree &tree, std::vector<PointSpec> points, std::vector<TermSpec> specs, LimitSpec limits,
                 std::vector<TargetSpec> targets, std::vector<TargetCopy> copies, std::vector<SeedCopy> seed_copies,
                 bool with_bodies, std::vector<std::shared_ptr<const Geometry>> geometries)
    : targets_(std::move(targets)),
      seed_copies_(std::move(seed_copies)),
      copies_(std::move(copies)),
      geometries_(std::move(geometries)) {
  for (const auto &geometry : geometries_) geometry_views_.push_back(geometry->view());
  const TreeView t = tree.view();
  dof_ = t.dof;
  if (limits.lower.size() != size_t(dof_) || limits.upper.size() != size_t(dof_) || limits.held.size() != size_t(dof_))
    refuse("limits and held joints must have one entry for each of the " + std::to_string(dof_) + " entries of q.");
  for (int i = 0; i < dof_; ++i)
    if (!(limits.lower[size_t(i)] <= limits.upper[size_t(i)])) refuse("lower limits must not exceed upper limits.");
  full_lower_ = limits.lower, full_upper_ = limits.upper;
  for (const PointSpec &point : points)
    if (point.link < 0 || point.link >= t.link_count) refuse("a link point names a link that the tree does not have.");

  std::vector<int> data_offset;
  size_t offset = 0;
  if (specs.empty()) refuse("a problem needs at least one goal.");
  for (const TermSpec &spec : specs) {
    const int size = data_size(spec.kind);
    if (size >= 0 && spec.data.size() != size_t(size)) refuse("a term's data has the wrong size.");
    const int rows = row_count(spec.kind);
    if (rows >= 0 ? spec.rows != rows : spec.rows < 1 || spec.rows > 10000)
      refuse("a term has the wrong number of rows.");
    if (uses_frame(spec.kind) && (spec.frame < 0 || spec.frame >= int(points.size())))
      refuse("a term names a missing frame.");
    if (spec.frame >= int(points.size()) || spec.reference >= int(points.size()))
      refuse("a term names a missing frame.");
    if (spec.loss_data.size() > kLossData) refuse("a loss has too many parameters.");
    if (!(spec.weight >= 0) || !std::isfinite(spec.weight)) refuse("weights must be finite and not negative.");
    if (!(spec.tolerance >= 0)) refuse("tolerances must not be negative.");
    if (spec.goal < 0 || spec.goal > 10000 || spec.priority < 0) refuse("a term has a negative goal or priority.");
    for (int entry : spec.entries)
      if (entry < 0 || entry >= dof_) refuse("a term names an entry that q does not have.");
    if (spec.kind == TermKind::support && spec.data.size() != size_t(1 + 4 * spec.rows))
      refuse("support data has the wrong size.");
    if (spec.kind == TermKind::joints && spec.data.size() != 4 * spec.entries.size())
      refuse("joint data has the wrong size.");
    if (spec.kind == TermKind::effort && spec.data.size() != size_t(3 + dof_))
      refuse("effort data has the wrong size.");
    for (double number : spec.data)
      if (std::isnan(number)) refuse("a term's data holds a number that is not one.");
    if (spec.kind == TermKind::manipulability && !(spec.data[1] > 0))
      refuse("the reference of manipulability must be positive.");
    if (spec.kind == TermKind::pivot_chain) check_chain(t, points, spec);
    if (spec.kind == TermKind::compiled) check_user_function(points, spec);
    if (uses_geometry(spec.kind)) check_geometry(geometry_views_, spec);
    if (spec.kind == TermKind::project_axis)
      check_pair(data_offset.empty() ? nullptr : &specs[data_offset.size() - 1], spec);
    if (spec.kind == TermKind::contacts) check_contacts(spec);
    if (spec.kind == TermKind::contacts && !with_bodies) refuse("a goal on contacts needs bodies to keep apart.");
    data_offset.push_back(int(offset));
    offset += spec.data.size();
    goals_ = std::max(goals_, spec.goal + 1);
    callbacks_ += spec.kind == TermKind::callback;
    manipulabilities_ += spec.kind == TermKind::manipulability;
    contacts_ += spec.kind == TermKind::contacts;
    projects_ += spec.kind == TermKind::project_point;
  }
  for (const TargetCopy &copy : copies_)
    if (copy.target < 0 || copy.target >= int(targets_.size()) || copy.from < 0 ||
        copy.from >= targets_[size_t(copy.target)].size || copy.to < 0 || size_t(copy.to) >= offset)
      refuse("an open target does not fit the data.");
  for (const SeedCopy &copy : seed_copies_)
    if (copy.entry < 0 || copy.entry >= dof_ || copy.to < 0 || size_t(copy.to) >= offset)
      refuse("a seed value does not fit the data.");
  for (const TargetSpec &target : targets_)
    if ((target.form == TargetForm::pose && target.size != 16) ||
        (target.form == TargetForm::rotation && target.size != 9))
      refuse("an open target has the wrong size for what it holds.");

  choose_axes(tree, points, specs, limits.held, with_bodies);
  for (const TermSpec &spec : specs)
    if (spec.priority == 0) demands_ += demands_of(spec);
  for (const TermSpec &spec : specs) data_.insert(data_.end(), spec.data.begin(), spec.data.end());
  // Musts come first in the residual, preferences by priority after them.
  std::vector<size_t> order(specs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return specs[a].priority < specs[b].priority; });
  for (size_t i : order) add_term(specs[i], data_offset, i);
  pose_ = find_pose();
  if (pose_.point >= 0 && pose_.rotation >= 0)
    closed_form_ = find_closed_form(view(), terms_[size_t(pose_.point)].frame);
  must_rows_ = 0;
  for (const Term &term : terms_)
    if (term.priority == 0) must_rows_ += term.rows;
}

void Problem::choose_axes(const Tree &tree, const std::vector<PointSpec> &points, const std::vector<TermSpec> &specs,
                          const std::vector<char> &held, bool with_bodies) {
  const TreeView t = tree.view();
  bool mass = false;
  std::vector<char> used(size_t(t.axis_count), 0), wanted(size_t(dof_), 0);
  const auto use = [&](int link) {
    for (int a = t.links[link].axis; a >= 0 && !used[size_t(a)]; a = t.axes[a].parent) used[size_t(a)] = 1;
  };
  for (const TermSpec &spec : specs) {
    mass |= uses_mass(spec.kind);
    if (spec.frame >= 0) use(points[size_t(spec.frame)].link);
    if (spec.reference >= 0) use(points[size_t(spec.reference)].link);
    for (int frame : user_frames(spec)) use(points[size_t(frame)].link);
    for (int entry : spec.entries)
      // A joint preference pulls only at joints that other goals move; as a must it makes its joints variables.
      if (spec.priority == 0 || uses_user(spec.kind)) wanted[size_t(entry)] = 1;
  }
  if (mass) std::fill(used.begin(), used.end(), 1);
  for (int a = 0; a < t.axis_count; ++a)
    if (used[size_t(a)]) wanted[size_t(t.axes[a].variable)] = 1;

  // Axes that move nothing but bodies are placed, and stay as the seed has them.
  if (with_bodies) std::fill(used.begin(), used.end(), 1);

  std::vector<int> variable_of(size_t(dof_), -1);
  for (int entry = 0; entry < dof_; ++entry) {
    if (!wanted[size_t(entry)] || held[size_t(entry)]) continue;
    variable_of[size_t(entry)] = int(sources_.size());
    sources_.push_back(entry);
  }
  std::vector<int> active(size_t(t.axis_count), -1);
  for (int a = 0; a < t.axis_count; ++a) {
    if (!used[size_t(a)]) continue;
    ActiveAxis axis{t.axes[a], t.axes[a].variable};
    axis.axis.parent = axis.axis.parent < 0 ? -1 : active[size_t(axis.axis.parent)];
    axis.axis.variable = variable_of[size_t(axis.source)];
    active[size_t(a)] = int(axes_.size());
    axes_.push_back(axis);
    const AxisBody &body = t.bodies[a];
    if (mass && body.mass > 0)
      bodies_.push_back({body.mass,
                         {body.moment[0] / body.mass, body.moment[1] / body.mass, body.moment[2] / body.mass},
                         active[size_t(a)]});
  }
  if (with_bodies)
    for (int a = 0; a < t.axis_count; ++a) {
      const Axis &axis = t.axes[a];
      collision_axes_.push_back(
          {active[size_t(a)], axis.parent, variable_of[size_t(axis.variable)], axis.prismatic, axis.multiplier});
    }
  if (mass) {
    total_mass_ = t.mass;
    if (!(total_mass_ > 0)) refuse("a goal on balance or effort needs masses, and this robot has none.");
    if (bodies_.empty()) bodies_.push_back({0.0, {0, 0, 0}, 0});
    if (axes_.empty()) refuse("a goal on balance or effort needs a joint that can move.");
    for (int k = 0; k < 3; ++k) fixed_moment_[k] = t.base.moment[k];
  }
  for (const PointSpec &point : points) {
    const LinkFrame &link = t.links[point.link];
    const bool needed = link.axis < 0 || used[size_t(link.axis)];
    points_.push_back(
        {product(link.placement, point.placement), needed && link.axis >= 0 ? active[size_t(link.axis)] : -1});
  }

  // Full turns are the same posture where a variable only turns axes, each a whole number of times.
  std::vector<char> turning(size_t(dof_), 1);
  for (int a = 0; a < t.axis_count; ++a) {
    const Axis &axis = t.axes[a];
    if (axis.prismatic || axis.multiplier != std::nearbyint(axis.multiplier)) turning[size_t(axis.variable)] = 0;
  }
  for (const TermSpec &spec : specs)
    if (uses_joints(spec.kind) && spec.priority == 0)
      for (int entry : spec.entries) turning[size_t(entry)] = 0;
  for (int source : sources_) {
    const double lower = full_lower_[size_t(source)], upper = full_upper_[size_t(source)];
    const bool endless = std::isinf(lower) || std::isinf(upper);
    lower_.push_back(lower), upper_.push_back(upper);
    circular_.push_back(std::isinf(lower) && std::isinf(upper));
    wraps_.push_back(turning[size_t(source)] && !endless && upper - lower >= 0.9999 * kTurn);
    // Without limits on a turning joint one turn holds every posture; on a sliding one, some metres about zero.
    const double centre = std::isinf(lower) ? (std::isinf(upper) ? 0.0 : upper - kTurn / 2) : lower + kTurn / 2;
    sample_lower_.push_back(endless ? centre - kTurn / 2 : lower);
    sample_upper_.push_back(endless ? centre + kTurn / 2 : upper);
    step_scale_.push_back(1.0);
    turns_.push_back(turning[size_t(source)]);
  }
}

void Problem::add_term(const TermSpec &spec, const std::vector<int> &data_offset, size_t index) {
  Term term{};
  term.kind = spec.kind, term.loss = spec.loss, term.goal = spec.goal;
  term.frame = spec.frame, term.reference = spec.reference;
  term.priority = spec.priority, term.weight = spec.weight, term.tolerance = spec.tolerance;
  term.data = data_offset[index], term.data_size = int(spec.data.size());
  std::copy(spec.loss_data.begin(), spec.loss_data.end(), term.loss_data);
  term.guess = spec.kind == TermKind::project_axis ? terms_.back().guess : guesses_;
  guesses_ += guesses_of(geometry_views_, spec);
  term.axes = int(term_axes_.size()), term.variables = int(term_variables_.size());
  std::vector<int> variables;
  const auto add_axis = [&](int a, double sign) {
    if (axes_[size_t(a)].axis.variable < 0) return;
    term_axes_.push_back({a, axes_[size_t(a)].axis.variable, sign * axes_[size_t(a)].axis.multiplier, sign < 0});
    variables.push_back(axes_[size_t(a)].axis.variable);
  };
  if (uses_mass(spec.kind)) {
    for (int a = 0; a < int(axes_.size()); ++a) add_axis(a, 1.0);
  } else if (uses_frame(spec.kind)) {
    std::vector<int> path, reference;
    for (int a = points_[size_t(spec.frame)].axis; a >= 0; a = axes_[size_t(a)].axis.parent) path.push_back(a);
    if (spec.reference >= 0)
      for (int a = points_[size_t(spec.reference)].axis; a >= 0; a = axes_[size_t(a)].axis.parent)
        reference.push_back(a);
    std::reverse(path.begin(), path.end());
    std::reverse(reference.begin(), reference.end());
    // What carries both frames moves neither seen from the other. A chain may begin nearer to the base than both.
    size_t common = 0;
    while (spec.kind != TermKind::pivot_chain && common < path.size() && common < reference.size() &&
           path[common] == reference[common])
      ++common;
    for (size_t k = common; k < path.size(); ++k) add_axis(path[k], 1.0);
    for (size_t k = common; k < reference.size(); ++k) add_axis(reference[k], -1.0);
  }
  for (int frame : user_frames(spec))
    for (int a = points_[size_t(frame)].axis; a >= 0; a = axes_[size_t(a)].axis.parent)
      if (axes_[size_t(a)].axis.variable >= 0) variables.push_back(axes_[size_t(a)].axis.variable);
  if (spec.kind == TermKind::compiled) {
    const UserFunction function(spec.data.data(), spec.rows);
    double *out = data_.data() + term.data + (function.variables - spec.data.data());
    for (int j = 0; j < function.joints; ++j) {
      const auto found = std::find(sources_.begin(), sources_.end(), int(function.entries[j]));
      out[j] = found == sources_.end() ? -1.0 : double(found - sources_.begin());
    }
  }
  if (spec.kind == TermKind::joints) {
    place_joints(spec, term, variables);
  } else if (uses_user(spec.kind)) {
    for (int entry : spec.entries) {
      const auto found = std::find(sources_.begin(), sources_.end(), entry);
      if (found != sources_.end()) variables.push_back(int(found - sources_.begin()));
    }
  }
  if (spec.kind == TermKind::contacts)
    for (int i = 0; i < int(sources_.size()); ++i) variables.push_back(i);
  term.rows = spec.rows;
  if (spec.kind == TermKind::joints) {
    term.rows = int(variables.size());
  } else {
    std::sort(variables.begin(), variables.end());
    variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  }
  if (spec.kind == TermKind::joints && !std::is_sorted(variables.begin(), variables.end()))
    refuse("a joint goal must list its joints in the order of q.");
  if (spec.kind == TermKind::effort) {
    term.rows = int(variables.size());
    for (size_t k = 0; k < variables.size(); ++k)
      data_[size_t(term.data) + 3 + k] = spec.data[3 + size_t(sources_[size_t(variables[k])])];
  }
  term.axis_count = int(term_axes_.size()) - term.axes;
  term.variable_count = int(variables.size());
  term_variables_.insert(term_variables_.end(), variables.begin(), variables.end());
  term.row = rows_;
  rows_ += term.rows;
  if (rows_ > 20000) refuse("a problem may have at most 20000 rows.");
  terms_.push_back(term);
}

// Joints that are variables come first in the term's block, in the order of q. Those that are held follow: they have no
// rows, and a must still has to hold for them. Targets and values of the seed move along with their joint.
void Problem::place_joints(const TermSpec &spec, const Term &term, std::vector<int> &variables) {
  std::vector<size_t> place(spec.entries.size()), held;
  for (size_t k = 0; k < spec.entries.size(); ++k) {
    const auto found = std::find(sources_.begin(), sources_.end(), spec.entries[k]);
    if (found == sources_.end()) {
      held.push_back(k);
    } else {
      place[k] = variables.size();
      variables.push_back(int(found - sources_.begin()));
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
  for (TargetCopy &copy : copies_) copy.to = moved(copy.to);
  for (SeedCopy &copy : seed_copies_) copy.to = moved(copy.to);
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
      for (const TargetCopy &copy : copies_)
        if (copy.to >= term.data && copy.to < term.data + 18 && (copy.to < term.data + 9 || copy.to >= term.data + 12))
          return none;
    } else {
      return none;
    }
  }
  return sources_.empty() || !held_joints_.empty() ? none : pose;
}

ProblemView Problem::view() const {
  ProblemView v{};
  v.axes = axes_.data(), v.frames = points_.data(), v.terms = terms_.data();
  v.term_axes = term_axes_.data(), v.term_variables = term_variables_.data(), v.bodies = bodies_.data();
  v.lower = lower_.data(), v.upper = upper_.data();
  v.sample_lower = sample_lower_.data(), v.sample_upper = sample_upper_.data();
  v.sources = sources_.data(), v.circular = circular_.data(), v.wraps = wraps_.data(),
  v.step_scale = step_scale_.data();
  v.axis_count = int(axes_.size()), v.frame_count = int(points_.size()), v.term_count = int(terms_.size());
  v.term_axis_count = int(term_axes_.size()), v.body_count = int(bodies_.size());
  v.variable_count = int(sources_.size()), v.dof = dof_, v.row_count = rows_, v.must_rows = must_rows_;
  v.data_size = int(data_.size()), v.goal_count = goals_, v.callback_count = callbacks_,
  v.manipulability_count = manipulabilities_;
  v.geometries = geometry_views_.data(), v.contact_count = contacts_, v.project_count = projects_,
  v.guess_count = guesses_;
  v.total_mass = total_mass_;
  std::copy(fixed_moment_, fixed_moment_ + 3, v.fixed_moment);
  return v;
}

}  // namespace memetik
