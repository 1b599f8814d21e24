#include "collision.h"

#include "collision_kernels.h"

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

size_t scratch_bytes(const TreeView &tree, int group_count) {
  const size_t n = size_t(tree.dof);
  return padded(sizeof(Frame) * tree.axis_count) + padded(sizeof(Lane) * (3 * n + n * n + group_count)) +
         padded(sizeof(CollisionAxis) * tree.axis_count) + padded(sizeof(int32_t) * n) + padded(n);
}

Scratch divide(const TreeView &tree, int group_count, void *memory) {
  const size_t n = size_t(tree.dof);
  char *at = static_cast<char *>(memory);
  const auto take = [&](size_t bytes) {
    char *start = at;
    at += padded(bytes);
    return start;
  };
  Scratch s;
  s.frames = reinterpret_cast<Frame *>(take(sizeof(Frame) * tree.axis_count));
  s.q = reinterpret_cast<Lane *>(take(sizeof(Lane) * (3 * n + n * n + group_count)));
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
void each(const TreeView &tree, const Scratch &s, const double *q, long begin, long end, const Work &work) {
  for (long n = begin; n < end; n += kWidth) {
    const int count = int(end - n < kWidth ? end - n : kWidth);
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

void clearance(const CollisionView &model, const TreeView &tree, const double *q, double limit, double *out, long begin,
               long end, void *memory) {
  const Scratch s = divide(tree, model.group_count, memory);
  each(tree, s, q, begin, end, [&](long n, int count) {
    const Lane c = least_clearance(model, s.axes, s.frames, Lane(limit));
    for (int lane = 0; lane < count; ++lane) out[n + lane] = get(c, lane);
  });
}

void collides_all(const CollisionView &model, const TreeView &tree, const double *q, double margin, uint8_t *out,
                  long begin, long end, void *memory) {
  const Scratch s = divide(tree, model.group_count, memory);
  each(tree, s, q, begin, end, [&](long n, int count) {
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
    groups[both.second] = min(groups[both.second], c);
  }
};

void group_clearance(const CollisionView &model, const TreeView &tree, const double *q, double limit, double *out,
                     long begin, long end, void *memory) {
  const Scratch s = divide(tree, model.group_count, memory);
  each(tree, s, q, begin, end, [&](long n, int count) {
    for (int g = 0; g < model.group_count; ++g) s.group[g] = Lane(limit);
    GroupSink sink{model, Lane(limit), s.group};
    all_contacts(model, placed(s.axes, s.frames), sink);
    for (int lane = 0; lane < count; ++lane)
      for (int g = 0; g < model.group_count; ++g) out[(n + lane) * model.group_count + g] = get(s.group[g], lane);
  });
}

void hinge(const CollisionView &model, const TreeView &tree, const double *q, double margin, double *cost,
           double *gradient, double *normal, long begin, long end, void *memory) {
  const Scratch s = divide(tree, model.group_count, memory);
  const int dof = tree.dof;
  each(tree, s, q, begin, end, [&](long n, int count) {
    for (int i = 0; i < dof; ++i) s.jtr[i] = Lane(0.0);
    for (int i = 0; i < dof * dof; ++i) s.jtj[i] = Lane(0.0);
    const Lane sum = accumulate_hinge(model, s.axes, s.frames, dof, margin, 1.0, s.jtr, s.jtj, {s.row, s.used, s.marked});
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

void free_length_all(const CollisionView &model, const TreeView &tree, const double *q, double margin, double *out,
                     long begin, long end, void *memory) {
  const Scratch s = divide(tree, model.group_count, memory);
  each(tree, s, q, begin, end, [&](long n, int count) {
    const Lane arc = free_length(model, s.axes, s.frames, margin);
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
const CollisionKernels collision_kernels{scratch_bytes, clearance,       collides_all, group_clearance,
                                         hinge,         free_length_all, field};

}  // namespace MEMETIK_ARCH
}  // namespace memetik
