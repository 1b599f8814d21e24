#include "collision/queries_lanes.h"

#include "collision/collision_kernel.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

struct Scratch {
  Frame *frames;
  Lane *q, *row, *jtr, *jtj, *group;
  CollisionAxis *axes;
  int32_t *used;
  uint8_t *marked;
};

constexpr size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t scratch_bytes(const TreeView &tree, int unit_count) {
  const size_t n = size_t(tree.dof);
  return padded(sizeof(Frame) * tree.axis_count) + padded(sizeof(Lane) * (3 * n + n * n + unit_count)) +
         padded(sizeof(CollisionAxis) * tree.axis_count) + padded(sizeof(int32_t) * n) + padded(n);
}

Scratch divide(const TreeView &tree, int unit_count, void *memory) {
  const size_t n = size_t(tree.dof);
  char *at = static_cast<char *>(memory);
  const auto take = [&](size_t bytes) {
    char *start = at;
    at += padded(bytes);
    return start;
  };
  Scratch s;
  s.frames = reinterpret_cast<Frame *>(take(sizeof(Frame) * tree.axis_count));
  s.q = reinterpret_cast<Lane *>(take(sizeof(Lane) * (3 * n + n * n + unit_count)));
  s.row = s.q + n;
  s.jtr = s.row + n;
  s.jtj = s.jtr + n;
  s.group = s.jtj + n * n;
  s.axes = reinterpret_cast<CollisionAxis *>(take(sizeof(CollisionAxis) * tree.axis_count));
  s.used = reinterpret_cast<int32_t *>(take(sizeof(int32_t) * n));
  s.marked = reinterpret_cast<uint8_t *>(take(n));
  for (int a = 0; a < tree.axis_count; ++a) {
    const Axis &axis = tree.axes[a];
    s.axes[a] = {a, axis.parent, axis.variable, axis.prismatic, axis.multiplier};
  }
  for (size_t i = 0; i < n; ++i) s.marked[i] = 0;
  return s;
}

// Calls work(first, count) for kWidth configurations at a time, with their frames computed; the last is repeated.
template <class Work>
void each(const TreeView &tree, const Scratch &s, const QueryRows &rows, const Work &work) {
  const double *q = rows.q;
  for (long n = rows.begin; n < rows.end; n += kWidth) {
    const int count = int(rows.end - n < kWidth ? rows.end - n : kWidth);
    for (int lane = 0; lane < kWidth; ++lane)
      for (int i = 0; i < tree.dof; ++i) set(s.q[i], lane, q[(n + (lane < count ? lane : count - 1)) * tree.dof + i]);
    for (int a = 0; a < tree.axis_count; ++a) {
      const Axis &axis = tree.axes[a];
      Frame f = axis.parent < 0 ? constant(axis.placement) : place(s.frames[axis.parent], axis.placement);
      move(axis, s.q[axis.variable], f);
      s.frames[a] = f;
    }
    work(n, count);
  }
}

void clearance(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit, double *out) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  each(tree, s, rows, [&](long n, int count) {
    const Lane c = least_clearance(model, s.axes, s.frames, Lane(limit));
    for (int lane = 0; lane < count; ++lane) out[n + lane] = get(c, lane);
  });
}

void collides_all(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double margin,
                  uint8_t *out) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  each(tree, s, rows, [&](long n, int count) {
    const unsigned hit = bits(collides(model, s.axes, s.frames, margin, none()));
    for (int lane = 0; lane < count; ++lane) out[n + lane] = hit >> lane & 1;
  });
}

struct GroupSink {
  static constexpr bool kGradient = false;
  const CollisionView &model;
  Lane limit;
  Lane *groups;

  const Lane &enough() const { return limit; }
  bool done() const { return false; }
  void world(int group, int, const Lane &c, const Vector3 &, const Vector3 &) { groups[group] = min(groups[group], c); }
  void self(int pair, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) {
    const GroupPair &both = model.pairs[pair];
    groups[both.first] = min(groups[both.first], c);
    groups[both.second] = min(groups[both.second], c);  // link objects come after the groups
  }
};

void group_clearance(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit,
                     double *out) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  each(tree, s, rows, [&](long n, int count) {
    const int units = model.group_count + model.link_object_count;
    for (int g = 0; g < units; ++g) s.group[g] = Lane(limit);
    GroupSink sink{model, Lane(limit), s.group};
    all_contacts(model, placed(s.axes, s.frames), sink);
    for (int lane = 0; lane < count; ++lane)
      for (int g = 0; g < units; ++g) out[(n + lane) * units + g] = get(s.group[g], lane);
  });
}

struct PairSink {
  static constexpr bool kGradient = false;
  Lane limit;
  double *out;  // (lanes, pairs)
  int lanes, pairs;

  const Lane &enough() const { return limit; }
  bool done() const { return false; }
  void world(int, int, const Lane &, const Vector3 &, const Vector3 &) {}
  void self(int pair, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) {
    for (int lane = 0; lane < lanes; ++lane) {
      double &least = out[long(lane) * pairs + pair];
      least = get(c, lane) < least ? get(c, lane) : least;
    }
  }
};

void pair_clearance(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit,
                    double *out) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  each(tree, s, rows, [&](long n, int count) {
    double *const first = out + n * model.pair_count;
    for (long k = 0; k < long(count) * model.pair_count; ++k) first[k] = limit;
    PairSink sink{Lane(limit), first, count, model.pair_count};
    self_contacts(model, placed(s.axes, s.frames), sink);
  });
}

struct NearestSink {
  static constexpr bool kGradient = true;
  const CollisionView &model;
  Lane best;
  Vector3 x, y, gradient;
  int32_t first[kWidth], second[kWidth];

  const Lane &enough() const { return best; }
  bool done() const { return false; }
  void note(const Lane &c, const Vector3 &at, const Vector3 &other, const Vector3 &slope, int32_t a, int32_t b) {
    const Mask nearer = c < best;
    best = select(nearer, c, best);
    x = choose(nearer, at, x);
    y = choose(nearer, other, y);
    gradient = choose(nearer, slope, gradient);
    const unsigned lanes = bits(nearer);
    for (int lane = 0; lane < kWidth; ++lane)
      if (lanes >> lane & 1) first[lane] = a, second[lane] = b;
  }
  void world(int group, int object, const Lane &c, const Vector3 &at, const Vector3 &slope) {
    note(c, at, at, slope, group, model.group_count + model.link_object_count + object);
  }
  void self(int pair, const Lane &c, const Vector3 &at, const Vector3 &other, const Vector3 &slope) {
    note(c, at, other, slope, model.pairs[pair].first, model.pairs[pair].second);
  }
};

struct Plain {
  double x, y, z;
};

Plain plain(const Vector3 &v, int lane) { return {get(v.x, lane), get(v.y, lane), get(v.z, lane)}; }

// Adds sign times the rate at which the clearance changes with the axes that carry a point.
void add_rates(const TreeView &tree, const Frame *frames, int lane, int axis, const Plain &x, const Plain &g,
               double sign, double *out) {
  for (int a = axis; a >= 0; a = tree.axes[a].parent) {
    const Plain z = plain(frames[a].z, lane), p = plain(frames[a].p, lane);
    const Plain r = {x.x - p.x, x.y - p.y, x.z - p.z};
    const double rate = tree.axes[a].prismatic ? z.x * g.x + z.y * g.y + z.z * g.z
                                               : z.x * (r.y * g.z - r.z * g.y) + z.y * (r.z * g.x - r.x * g.z) +
                                                     z.z * (r.x * g.y - r.y * g.x);
    out[tree.axes[a].variable] += sign * tree.axes[a].multiplier * rate;
  }
}

void nearest(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double limit, double *out,
             double *gradient, int32_t *between) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  const Vector3 zero = {Lane(0.0), Lane(0.0), Lane(0.0)};
  each(tree, s, rows, [&](long n, int count) {
    NearestSink sink{model, Lane(limit), zero, zero, zero, {}, {}};
    for (int lane = 0; lane < kWidth; ++lane) sink.first[lane] = sink.second[lane] = -1;
    all_contacts(model, placed(s.axes, s.frames), sink);
    for (int lane = 0; lane < count; ++lane) {
      double *row = gradient + (n + lane) * tree.dof;
      for (int i = 0; i < tree.dof; ++i) row[i] = 0;
      out[n + lane] = get(sink.best, lane);
      const int a = sink.first[lane], b = sink.second[lane];
      between[2 * (n + lane)] = a;
      between[2 * (n + lane) + 1] = b;
      if (a < 0) continue;
      const Plain g = plain(sink.gradient, lane);
      add_rates(tree, s.frames, lane, model.groups[a].axis, plain(sink.x, lane), g, 1.0, row);
      if (b >= model.group_count + model.link_object_count) continue;
      const int other = b < model.group_count ? model.groups[b].axis : model.link_objects[b - model.group_count].axis;
      add_rates(tree, s.frames, lane, other, plain(sink.y, lane), g, -1.0, row);
    }
  });
}

void hinge(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double margin, double *cost,
           double *gradient, double *normal) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  const int dof = tree.dof;
  each(tree, s, rows, [&](long n, int count) {
    for (int i = 0; i < dof; ++i) s.jtr[i] = Lane(0.0);
    for (int i = 0; i < dof * dof; ++i) s.jtj[i] = Lane(0.0);
    const Lane sum = accumulate_hinge(model, placed(s.axes, s.frames), Lane(margin), 1.0, {s.jtr, s.jtj, dof},
                                      {s.row, s.used, s.marked});
    for (int lane = 0; lane < count; ++lane) {
      cost[n + lane] = get(sum, lane);
      for (int i = 0; i < dof; ++i) gradient[(n + lane) * dof + i] = get(s.jtr[i], lane);
      if (normal == nullptr) continue;
      for (int i = 0; i < dof; ++i)
        for (int j = 0; j < dof; ++j)
          normal[((n + lane) * dof + i) * dof + j] = get(s.jtj[i >= j ? i * dof + j : j * dof + i], lane);
    }
  });
}

void free_length_all(const CollisionView &model, const TreeView &tree, const QueryRows &rows, double margin,
                     double *out) {
  const Scratch s = divide(tree, model.group_count + model.link_object_count, rows.scratch);
  each(tree, s, rows, [&](long n, int count) {
    const Lane arc = free_length(model, s.axes, s.frames, margin, none());
    for (int lane = 0; lane < count; ++lane) {
      const double value = get(arc, lane);
      out[n + lane] = value < 0.5 * kFar ? value : __builtin_inf();
    }
  });
}

void field(const FieldView &view, const double *points, double *value, double *gradient, long begin, long end) {
  for (long n = begin; n < end; n += kWidth) {
    const int count = int(end - n < kWidth ? end - n : kWidth);
    Vector3 x, g;
    for (int lane = 0; lane < kWidth; ++lane) {
      const double *p = points + 3 * (n + (lane < count ? lane : count - 1));
      set(x.x, lane, p[0]);
      set(x.y, lane, p[1]);
      set(x.z, lane, p[2]);
    }
    const Lane v = lookup(view, x, gradient == nullptr ? nullptr : &g);
    for (int lane = 0; lane < count; ++lane) {
      if (value != nullptr) value[n + lane] = get(v, lane);
      if (gradient == nullptr) continue;
      gradient[3 * (n + lane)] = get(g.x, lane);
      gradient[3 * (n + lane) + 1] = get(g.y, lane);
      gradient[3 * (n + lane) + 2] = get(g.z, lane);
    }
  }
}

}  // namespace

extern const CollisionKernels collision_kernels;
const CollisionKernels collision_kernels{
    scratch_bytes, clearance, collides_all, group_clearance, pair_clearance, nearest, hinge, free_length_all, field};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
