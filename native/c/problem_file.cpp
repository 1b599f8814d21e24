#include "c/problem_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

namespace memetik {
namespace {

constexpr int kMost = 1000000;  // numbers of a field

[[noreturn]] void refuse(const std::string &sentence) { throw std::invalid_argument(sentence); }

// Lines of the file, one after the other; each is asked for by its key.
class Lines {
 public:
  explicit Lines(std::istream &text) : text_(text) {}

  std::vector<double> numbers(const char *key) {
    std::istringstream line(next());
    const size_t count = begin(line, key);
    std::vector<double> values(count);
    for (double &value : values) value = number(line, key);
    if (std::string rest; line >> rest) refuse(place(key) + "has more numbers than it says.");
    return values;
  }

  std::vector<double> numbers(const char *key, size_t count) {
    std::vector<double> values = numbers(key);
    if (values.size() != count)
      refuse(place(key) + "has " + std::to_string(values.size()) + " numbers, not " + std::to_string(count) + ".");
    return values;
  }

  std::vector<int> integers(const char *key) { return whole(numbers(key), key); }
  std::vector<int> integers(const char *key, size_t count) { return whole(numbers(key, count), key); }

  std::vector<std::string> names(const char *key) {
    std::istringstream line(next());
    std::vector<std::string> found(begin(line, key));
    for (std::string &name : found) name = next();
    return found;
  }

  std::string next() {
    std::string line;
    if (!std::getline(text_, line)) refuse("the problem's file ends after line " + std::to_string(number_) + ".");
    ++number_;
    return line;
  }

 private:
  size_t begin(std::istringstream &line, const char *key) {
    std::string found;
    long long count = -1;
    line >> found >> count;
    if (found != key) refuse(place(key) + "was expected and is not there.");
    if (count < 0 || count > kMost) refuse(place(key) + "says how many numbers follow, at most a million.");
    return size_t(count);
  }

  double number(std::istringstream &line, const char *key) {
    std::string word;
    line >> word;
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size())
      refuse(place(key) + "holds something that is not a number.");
    return value;
  }

  std::vector<int> whole(const std::vector<double> &values, const char *key) {
    std::vector<int> out;
    for (double value : values) {
      if (!(std::abs(value) <= 1e9) || value != std::floor(value)) refuse(place(key) + "holds whole numbers only.");
      out.push_back(int(value));
    }
    return out;
  }

  std::string place(const char *key) const {
    return "line " + std::to_string(number_) + " of the problem's file, '" + key + "', ";
  }

  std::istream &text_;
  int number_ = 0;
};

Placement placement(const double *rows) {
  Placement out;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = rows[4 * r + c];
    out.p[r] = rows[4 * r + 3];
  }
  return out;
}

NamedTree read_tree(Lines &lines) {
  NamedTree named;
  named.links = lines.names("links");
  named.joints = lines.names("joints");
  const size_t dof = named.joints.size(), links = named.links.size();
  named.lower = lines.numbers("lower", dof);
  named.upper = lines.numbers("upper", dof);
  named.neutral = lines.numbers("neutral", dof);
  const std::vector<int> parents = lines.integers("parents");
  const size_t count = parents.size();
  const std::vector<int> prismatic = lines.integers("prismatic", count), variables = lines.integers("variables", count);
  const std::vector<double> multipliers = lines.numbers("multipliers", count),
                            offsets = lines.numbers("offsets", count),
                            placements = lines.numbers("placements", 12 * count);
  std::vector<Axis> axes;
  for (size_t a = 0; a < count; ++a)
    axes.push_back(
        {placement(&placements[12 * a]), multipliers[a], offsets[a], parents[a], variables[a], prismatic[a] != 0});
  const std::vector<int> link_axes = lines.integers("link_axes", links);
  const std::vector<double> link_placements = lines.numbers("link_placements", 12 * links),
                            masses = lines.numbers("masses", links), coms = lines.numbers("coms", 3 * links),
                            inertias = lines.numbers("inertias", 9 * links);
  std::vector<LinkFrame> frames;
  std::vector<Inertia> bodies;
  for (size_t k = 0; k < links; ++k) {
    frames.push_back({placement(&link_placements[12 * k]), link_axes[k]});
    Inertia body{masses[k], {}, {}};
    std::copy_n(&coms[3 * k], 3, body.com);
    std::copy_n(&inertias[9 * k], 9, body.inertia);
    bodies.push_back(body);
  }
  named.tree = std::make_shared<const Tree>(std::move(axes), std::move(frames), std::move(bodies), int(dof));
  return named;
}

TermSpec read_term(Lines &lines) {
  TermSpec term;
  const std::vector<int> form = lines.integers("term", 7);
  if (form[0] < 0 || form[0] >= kTermKinds) refuse("the problem's file has a kind of goal that this library lacks.");
  term.kind = TermKind(form[0]), term.goal = form[1], term.frame = form[2], term.reference = form[3];
  if (uses_user_code(term.kind) || uses_geometry(term.kind) || term.kind == TermKind::contacts)
    refuse("the problem's file has goals on contacts, surfaces or of the user's own code, which cannot be loaded.");
  if (term.frame < -1 || term.reference < -1) refuse("the problem's file has a term with a negative frame.");
  term.priority = form[4], term.rows = form[5];
  if (form[6] < 0 || form[6] > int(Loss::swamp_groove)) refuse("the problem's file has an unknown loss.");
  term.loss.kind = Loss(form[6]);
  term.loss.parameters = lines.numbers("loss");
  const std::vector<double> bounds = lines.numbers("weight", 2);
  term.weight = bounds[0], term.tolerance = bounds[1];
  term.entries = lines.integers("entries");
  term.data = lines.numbers("data");
  return term;
}

// A list of small structs of whole numbers, `width` each.
template <class Make>
void read_rows(Lines &lines, const char *key, size_t width, Make make) {
  const std::vector<int> values = lines.integers(key);
  if (values.size() % width != 0) refuse(std::string("the problem's file has an incomplete entry in '") + key + "'.");
  for (size_t k = 0; k < values.size(); k += width) make(&values[k]);
}

}  // namespace

SavedProblem read_problem(std::istream &text) {
  Lines lines(text);
  if (lines.next() != "memetik.core-problem 1")
    refuse("this is no problem as mk.export_problem writes it: its first line is 'memetik.core-problem 1'.");
  SavedProblem saved;
  saved.robot = read_tree(lines);
  ProblemSpec &spec = saved.spec;
  spec.tree = saved.robot.tree;
  const std::vector<int> frames = lines.integers("frames");
  const std::vector<double> placements = lines.numbers("frame_placements", 12 * frames.size());
  for (size_t k = 0; k < frames.size(); ++k) spec.frames.push_back({frames[k], placement(&placements[12 * k])});
  const int terms = lines.integers("terms", 1)[0];
  for (int k = 0; k < terms; ++k) spec.terms.push_back(read_term(lines));
  spec.lower = saved.robot.lower, spec.upper = saved.robot.upper;
  spec.held = lines.integers("held");
  saved.held_values = lines.numbers("held_values", spec.held.size());
  spec.named = lines.integers("named");
  read_rows(lines, "targets", 3, [&](const int *row) {
    if (row[0] < 1 || row[0] > kMost || row[1] < 0 || row[1] > int(TargetForm::direction))
      refuse("the problem's file has a target of an unknown form.");
    spec.targets.push_back({row[0], TargetForm(row[1]), row[2]});
  });
  read_rows(lines, "target_copies", 4,
            [&](const int *row) { spec.target_copies.push_back({row[0], row[1], row[2], row[3]}); });
  read_rows(lines, "seed_copies", 3, [&](const int *row) { spec.seed_copies.push_back({row[0], row[1], row[2]}); });
  return saved;
}

}  // namespace memetik
