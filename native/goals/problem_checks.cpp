#include "goals/problem_checks.h"

#include <cmath>
#include <stdexcept>

#include "goals/user_function.h"

namespace memetik {

void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

namespace {

void check_chain(const TreeView &t, const std::vector<FrameSpec> &frames, const TermSpec &spec) {
  if (spec.data.size() < 6 || spec.data[3] != double(spec.data.size() - 4)) refuse("chain data has the wrong size.");
  for (size_t k = 4; k < spec.data.size(); ++k)
    if (!(spec.data[k] >= 0) || spec.data[k] >= double(frames.size())) refuse("a chain names a missing frame.");
  if (int(spec.data.back()) != spec.frame) refuse("a chain must end at its term's frame.");
  // Each frame's axis lies on the way from the base to the next one's.
  for (size_t k = 4; k + 1 < spec.data.size(); ++k) {
    const int inner = t.links[frames[size_t(spec.data[k])].link].axis;
    int outer = t.links[frames[size_t(spec.data[k + 1])].link].axis;
    while (outer > inner) outer = t.axes[outer].parent;
    if (outer != inner) refuse("the links of a chain must follow each other from the base outwards.");
  }
}

void check_user_function(const std::vector<FrameSpec> &frames, const TermSpec &spec) {
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
    if (!(function.frames[l] >= 0) || function.frames[l] >= double(frames.size()))
      refuse("a compiled goal names a missing frame.");
}

void check_geometry(const ProblemSpec &problem, const TermSpec &spec) {
  if (!(spec.data[0] >= 0 && spec.data[0] < double(problem.geometries.size())))
    refuse("a term names a geometry that is not there.");
  const GeometryView geometry = problem.geometries[size_t(spec.data[0])]->view();
  const bool projects = spec.kind == TermKind::project_point || spec.kind == TermKind::project_axis;
  const int parts = spec.kind == TermKind::touch ? geometry.primitive_count + geometry.hull_count
                    : projects                   ? int(geometry.surface_count == 1)
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

// What a kind asks of its numbers beyond the table.
void check_data(const ProblemSpec &problem, size_t index, int dof) {
  const TermSpec &spec = problem.terms[index];
  switch (spec.kind) {
    case TermKind::support:
      if (spec.data.size() != size_t(1 + 4 * spec.rows)) refuse("support data has the wrong size.");
      break;
    case TermKind::joints:
      if (spec.data.size() != 4 * spec.entries.size()) refuse("joint data has the wrong size.");
      break;
    case TermKind::effort:
      if (spec.data.size() != size_t(3 + dof)) refuse("effort data has the wrong size.");
      break;
    case TermKind::manipulability:
      if (!(spec.data[1] > 0)) refuse("the reference of manipulability must be positive.");
      break;
    case TermKind::pivot_chain:
      check_chain(problem.tree->view(), problem.frames, spec);
      break;
    case TermKind::compiled:
      check_user_function(problem.frames, spec);
      break;
    case TermKind::project_axis:
      check_pair(index == 0 ? nullptr : &problem.terms[index - 1], spec);
      break;
    case TermKind::contacts:
      check_contacts(spec);
      if (!problem.collision) refuse("a goal on contacts needs bodies to keep apart.");
      break;
    default:
      break;
  }
}

void check_term(const ProblemSpec &problem, size_t index, int dof) {
  const TermSpec &spec = problem.terms[index];
  const TermTraits &kind = traits(spec.kind);
  const int frames = int(problem.frames.size());
  if (kind.data >= 0 && spec.data.size() != size_t(kind.data)) refuse("a term's data has the wrong size.");
  if (kind.rows >= 0 ? spec.rows >= 0 && spec.rows != kind.rows : spec.rows < 1 || spec.rows > 10000)
    refuse("a term has the wrong number of rows.");
  if (uses_frame(spec.kind) && (spec.frame < 0 || spec.frame >= frames)) refuse("a term names a missing frame.");
  if (spec.frame >= frames || spec.reference >= frames) refuse("a term names a missing frame.");
  if (spec.loss.parameters.size() > kLossData) refuse("a loss has too many parameters.");
  if (!(spec.weight >= 0) || !std::isfinite(spec.weight)) refuse("weights must be finite and not negative.");
  if (!(spec.tolerance >= 0)) refuse("tolerances must not be negative.");
  if (spec.goal < 0 || spec.goal > 10000 || spec.priority < 0) refuse("a term has a negative goal or priority.");
  for (int entry : spec.entries)
    if (entry < 0 || entry >= dof) refuse("a term names an entry that q does not have.");
  for (double number : spec.data)
    if (std::isnan(number)) refuse("a term's data holds a number that is not one.");
  if (uses_geometry(spec.kind)) check_geometry(problem, spec);
  check_data(problem, index, dof);
}

void check_copy(const ProblemSpec &problem, int term, int destination) {
  if (term < 0 || size_t(term) >= problem.terms.size() || destination < 0 ||
      size_t(destination) >= problem.terms[size_t(term)].data.size())
    refuse("an open target does not fit its term.");
}

}  // namespace

void check_problem(const ProblemSpec &problem) {
  if (!problem.tree) refuse("a problem needs a kinematic tree.");
  const TreeView tree = problem.tree->view();
  const size_t dof = size_t(tree.dof);
  if (problem.lower.size() != dof || problem.upper.size() != dof)
    refuse("limits must have one entry for each of the " + std::to_string(dof) + " entries of q.");
  for (size_t i = 0; i < dof; ++i)
    if (!(problem.lower[i] <= problem.upper[i])) refuse("lower limits must not exceed upper limits.");
  for (int entry : problem.held)
    if (entry < 0 || entry >= tree.dof) refuse("a held joint is not in q.");
  for (int entry : problem.named)
    if (entry < 0 || entry >= tree.dof) refuse("a joint that a soft goal names is not in q.");
  for (const FrameSpec &frame : problem.frames)
    if (frame.link < 0 || frame.link >= tree.link_count) refuse("a frame names a link that the tree does not have.");
  if (problem.terms.empty()) refuse("a problem needs at least one goal.");
  for (size_t k = 0; k < problem.terms.size(); ++k) check_term(problem, k, tree.dof);
  for (const TargetCopy &copy : problem.target_copies) {
    check_copy(problem, copy.term, copy.destination);
    if (copy.target < 0 || copy.target >= int(problem.targets.size()) || copy.source < 0 ||
        copy.source >= problem.targets[size_t(copy.target)].size)
      refuse("an open target does not fit the data.");
  }
  for (const SeedCopy &copy : problem.seed_copies) {
    check_copy(problem, copy.term, copy.destination);
    if (copy.entry < 0 || copy.entry >= tree.dof) refuse("a seed value does not fit the data.");
  }
  for (const TargetSpec &target : problem.targets)
    if ((target.form == TargetForm::pose && target.size != 16) ||
        (target.form == TargetForm::rotation && target.size != 9))
      refuse("an open target has the wrong size for what it holds.");
}

}  // namespace memetik
