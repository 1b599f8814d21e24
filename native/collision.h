// Collision over lanes: clearances, contacts with their derivatives, hinge costs. Included by kernels only.
//
// A contact is a clearance c with a point x of the robot and the gradient of c by x, in the world. Bodies are fixed to
// axes, so that c changes with the joint of axis j (position p_j, direction z_j) at the rate gradient.(z_j x (x -
// p_j)).
#pragma once

#include "field_lookup.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

constexpr double kFar = 1e30;

// Signed distance from x (in the object's frame) to a primitive and its gradient. All are convex functions of x.
MEMETIK_SHARED Lane primitive_distance(const WorldObject &object, const Vector3 &x, Vector3 &gradient) {
  const Lane zero(0.0), one(1.0), tiny(1e-300);
  switch (object.kind) {
    case ObjectKind::half_space:
      gradient = {zero, zero, one};
      return x.z;
    case ObjectKind::box: {
      const Vector3 sign = {select(x.x < zero, -one, one), select(x.y < zero, -one, one),
                            select(x.z < zero, -one, one)};
      const Vector3 q = {sign.x * x.x - Lane(object.size[0]), sign.y * x.y - Lane(object.size[1]),
                         sign.z * x.z - Lane(object.size[2])};
      const Vector3 out = {max(q.x, zero), max(q.y, zero), max(q.z, zero)};
      const Lane length = sqrt(dot(out, out));
      const Lane deepest = max(q.x, max(q.y, q.z));
      const Mask inside = deepest <= zero;
      const Lane inverse = one / max(length, tiny);
      const Mask by_x = q.x >= deepest, by_y = ~by_x & (q.y >= deepest);
      const Lane nx = select(inside, select(by_x, one, zero), inverse * out.x);
      const Lane ny = select(inside, select(by_y, one, zero), inverse * out.y);
      const Lane nz = select(inside, select(by_x | by_y, zero, one), inverse * out.z);
      gradient = {sign.x * nx, sign.y * ny, sign.z * nz};
      return select(inside, deepest, length);
    }
    case ObjectKind::cylinder: {
      const Lane radial = sqrt(x.x * x.x + x.y * x.y);
      const Lane inverse = one / max(radial, tiny);
      const Lane sign = select(x.z < zero, -one, one);
      const Lane u = radial - Lane(object.size[0]), v = sign * x.z - Lane(object.size[2]);
      const Lane up = max(u, zero), vp = max(v, zero);
      const Lane length = sqrt(up * up + vp * vp);
      const Lane deepest = max(u, v);
      const Mask inside = deepest <= zero;
      const Lane scale = one / max(length, tiny);
      const Lane nu = select(inside, select(u >= v, one, zero), scale * up) * inverse;
      const Lane nv = select(inside, select(u >= v, zero, one), scale * vp) * sign;
      gradient = {nu * x.x, nu * x.y, nv};
      return select(inside, deepest, length);
    }
    default: {  // sphere, capsule
      Vector3 way = x;
      if (object.kind == ObjectKind::capsule) way.z = x.z - clamp(x.z, Lane(-object.size[2]), Lane(object.size[2]));
      const Lane length = sqrt(dot(way, way));
      const Lane inverse = one / max(length, tiny);
      gradient = {inverse * way.x, inverse * way.y, inverse * way.z};
      return length - Lane(object.size[0]);
    }
  }
}

// The largest whole number below x, zero where x is negative, at most 2^20.
MEMETIK_INLINE Lane whole(const Lane &x) { return max(round(min(x, Lane(1048576.0)) - Lane(0.5)), Lane(0.0)); }

struct ObjectPoint {
  Lane distance;
  Vector3 at, gradient;  // in the object's frame
};

// Least distance over the segment from a, length `length` along the unit vector u, to a convex primitive.
// Where the tangents at both ends of an interval meet is a lower bound of the function between them; the search ends
// once that is near enough to the best value seen, or above `enough`, in every lane. The next point is in turns where
// the tangents meet, which finds kinks, and where the secant of the slope is zero, which finds smooth minima.
MEMETIK_SHARED ObjectPoint segment_distance(const WorldObject &object, const Vector3 &a, const Vector3 &u,
                                            double length, const Lane &enough) {
  constexpr int kSteps = 24;
  constexpr double kTolerance = 1e-6;
  const Lane zero(0.0), tiny(1e-300);
  ObjectPoint best{zero, a, {}};
  Lane fa = primitive_distance(object, a, best.gradient);
  best.distance = fa;
  if (length == 0) return best;
  Lane ta(0.0), tb(length);
  Lane ga = dot(u, best.gradient);
  Vector3 gradient;
  const Vector3 b = a + Lane(length) * u;
  Lane fb = primitive_distance(object, b, gradient);
  Lane gb = dot(u, gradient);
  {
    const Mask better = fb < best.distance;
    best = {select(better, fb, best.distance), choose(better, b, best.at), choose(better, gradient, best.gradient)};
  }
  Mask open = (ga < zero) & (gb > zero);
  Lane bound = best.distance;
  for (int k = 0; k < kSteps && any(open); ++k) {
    const Lane inverse = 1.0 / max(gb - ga, tiny);
    const Lane meet = clamp((fa - fb + gb * tb - ga * ta) * inverse, ta, tb);
    bound = select(open, min(fa + ga * (meet - ta), best.distance), bound);
    open = open & (best.distance - bound > Lane(kTolerance)) & (bound < enough);
    if (!any(open)) break;
    const Lane t = k % 2 == 0 ? meet : clamp((gb * ta - ga * tb) * inverse, ta, tb);
    const Vector3 x = a + t * u;
    const Lane f = primitive_distance(object, x, gradient);
    const Lane g = dot(u, gradient);
    const Mask better = open & (f < best.distance);
    best = {select(better, f, best.distance), choose(better, x, best.at), choose(better, gradient, best.gradient)};
    const Mask left = open & (g < zero), right = open & ~(g < zero);
    ta = select(left, t, ta), fa = select(left, f, fa), ga = select(left, g, ga);
    tb = select(right, t, tb), fb = select(right, f, fb), gb = select(right, g, gb);
  }
  best.distance = min(bound, best.distance);
  return best;
}

// Nearest points of two segments p + s u, s in [0, a] and r + t v, t in [0, b]; u, v unit vectors (or of no length).
MEMETIK_SHARED void nearest_of_segments(const Vector3 &p, const Vector3 &u, double a, const Vector3 &r,
                                        const Vector3 &v, double b, Vector3 &x, Vector3 &y) {
  const Lane zero(0.0), end_a(a), end_b(b);
  const Vector3 w = p - r;
  if (a == 0 && b == 0) {
    x = p, y = r;
    return;
  }
  if (a == 0) {
    x = p, y = r + clamp(dot(v, w), zero, end_b) * v;
    return;
  }
  if (b == 0) {
    x = p + clamp(-dot(u, w), zero, end_a) * u, y = r;
    return;
  }
  const Lane c = dot(u, w), f = dot(v, w), cosine = dot(u, v);
  const Lane sine = 1.0 - cosine * cosine;
  Lane s = select(sine > Lane(1e-9), clamp((cosine * f - c) / max(sine, Lane(1e-9)), zero, end_a), zero);
  const Lane free = cosine * s + f;
  const Lane t = clamp(free, zero, end_b);
  s = select((free < zero) | (free > end_b), clamp(cosine * t - c, zero, end_a), s);
  x = p + s * u;
  y = r + t * v;
}

MEMETIK_INLINE Frame unit_frame() {
  const Lane zero(0.0), one(1.0);
  return {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}, {zero, zero, zero}};
}

// Frames of the groups' axes, whatever place they have among the caller's frames.
struct Placed {
  const Frame *frames;
  const CollisionAxis *axes;
  Frame base;

  MEMETIK_INLINE const Frame &of(int axis) const { return axis < 0 ? base : frames[axes[axis].frame]; }
};

MEMETIK_INLINE Placed placed(const CollisionAxis *axes, const Frame *frames) { return {frames, axes, unit_frame()}; }

// Where an object is: at a constant pose, or at one that differs from lane to lane.
struct FixedPose {
  const Placement &pose;

  MEMETIK_INLINE Vector3 into(const Vector3 &x) const {
    return back(pose.R, {x.x - Lane(pose.p[0]), x.y - Lane(pose.p[1]), x.z - Lane(pose.p[2])});
  }
  MEMETIK_INLINE Vector3 out_of(const Vector3 &x) const {
    const Vector3 r = turn(pose.R, x);
    return {r.x + Lane(pose.p[0]), r.y + Lane(pose.p[1]), r.z + Lane(pose.p[2])};
  }
  MEMETIK_INLINE Vector3 turned_in(const Vector3 &v) const { return back(pose.R, v); }
  MEMETIK_INLINE Vector3 turned_out(const Vector3 &v) const { return turn(pose.R, v); }
};

struct MovingPose {
  Frame frame;

  MEMETIK_INLINE Vector3 into(const Vector3 &x) const { return back(frame, x - frame.p); }
  MEMETIK_INLINE Vector3 out_of(const Vector3 &x) const { return turn(frame, x) + frame.p; }
  MEMETIK_INLINE Vector3 turned_in(const Vector3 &v) const { return back(frame, v); }
  MEMETIK_INLINE Vector3 turned_out(const Vector3 &v) const { return turn(frame, v); }
};

// A lower bound of the distance from a point to the object.
MEMETIK_SHARED Lane lower_bound(const WorldObject &object, const Vector3 &x) {
  if (object.kind == ObjectKind::field)
    return lookup(*object.field, x, nullptr) - Lane(slack(*object.field) + object.padding);
  Vector3 gradient;
  return primitive_distance(object, x, gradient) - Lane(object.padding);
}

// What a body may come near to, contact by contact. A Sink has
//   Lane enough()                                   contacts with a clearance above it are of no interest
//   bool done()                                     no contact is of interest any more
//   void world(group, object, c, x, gradient)       a contact with an object
//   void self(pair, c, x, y, gradient)              one between the two of a pair, x on the first, y on the second
// and it is up to the sink to leave out the lanes where c is above enough().
//
// Calls report(c, x, gradient) for the contacts of one body with one object.
template <class Sink, class Pose, class Report>
inline void object_contacts(const CollisionView &model, const CollisionBody &body, const Frame &frame,
                            const WorldObject &object, const Pose &pose, Sink &sink, const Report &report) {
  const Vector3 start = pose.into(point(frame, body.start[0], body.start[1], body.start[2]));
  const bool ball = body.length == 0;
  const Vector3 unit = ball ? start : pose.turned_in(direction(frame, body.unit[0], body.unit[1], body.unit[2]));
  if (object.kind != ObjectKind::field) {
    const double radius = body.radius + object.padding;
    const ObjectPoint found = segment_distance(object, start, unit, body.length, sink.enough() + Lane(radius));
    const Lane c = found.distance - Lane(radius);
    if (any(c < sink.enough())) report(c, pose.out_of(found.at), pose.turned_out(found.gradient));
    return;
  }
  const FieldView &field = *object.field;
  const double grown = body.sample_radius + object.padding;
  const double radius = grown + model.correction * overestimate(field, grown + field.offset);
  Vector3 gradient;
  if (ball) {
    const Lane c = lookup(field, start, Sink::kGradient ? &gradient : nullptr) - Lane(radius);
    if (any(c < sink.enough())) report(c, pose.out_of(start), pose.turned_out(gradient));
    return;
  }
  const Vector3 step = Lane(body.spacing) * unit;
  const Lane last(body.samples - 1);
  const double per_step = 1.0 / body.spacing;
  Lane k(0.0);
  Mask open = ~none();
  do {
    const Vector3 x = start + k * step;
    const Lane c = lookup(field, x, Sink::kGradient ? &gradient : nullptr) - Lane(radius);
    const Lane enough = sink.enough();
    if (any(open & (c < enough))) report(select(open, c, Lane(kFar)), pose.out_of(x), pose.turned_out(gradient));
    // The distance changes by no more than the way: the samples in between are farther than enough.
    k = k + Lane(1.0) + whole((c - enough - Lane(slack(field))) * Lane(per_step));
    open = open & (k <= last);
    k = min(k, last);
  } while (any(open) && !sink.done());
}

// The contacts of a group with one object.
template <class Sink, class Pose, class Report>
inline void group_contacts(const CollisionView &model, const BodyGroup &group, const Frame &frame,
                           const WorldObject &object, const Pose &pose, Sink &sink, const Report &report) {
  const Vector3 centre = pose.into(point(frame, group.centre[0], group.centre[1], group.centre[2]));
  if (group.count > 1 && !any(lower_bound(object, centre) - Lane(group.reach) < sink.enough())) return;
  for (int b = group.first; b < group.first + group.count && !sink.done(); ++b)
    object_contacts(model, model.bodies[b], frame, object, pose, sink, report);
}

template <class Sink>
inline void world_contacts(const CollisionView &model, const Placed &placed, Sink &sink) {
  for (int g = 0; g < model.group_count; ++g) {
    const BodyGroup &group = model.groups[g];
    const Frame &frame = placed.of(group.axis);
    const uint8_t *checked = model.checked + size_t(g) * model.object_count;
    for (int o = 0; o < model.object_count && !sink.done(); ++o) {
      if (!checked[o]) continue;
      const WorldObject &object = model.objects[o];
      group_contacts(
          model, group, frame, object, FixedPose{object.pose}, sink,
          [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) { sink.world(g, o, c, x, gradient); });
    }
  }
}

template <class Sink>
inline void bodies_contacts(const CollisionView &model, int pair, const BodyGroup &first, const Frame &f,
                            const BodyGroup &second, const Frame &s, Sink &sink) {
  const Vector3 centre = point(s, second.centre[0], second.centre[1], second.centre[2]);
  const Lane way = norm(point(f, first.centre[0], first.centre[1], first.centre[2]) - centre);
  if (!any(way - Lane(first.reach + second.reach) < sink.enough())) return;
  for (int i = first.first; i < first.first + first.count; ++i) {
    const CollisionBody &a = model.bodies[i];
    const Vector3 from = point(f, a.start[0], a.start[1], a.start[2]);
    const Vector3 along = direction(f, a.unit[0], a.unit[1], a.unit[2]);
    if (first.count > 1 && second.count > 1) {
      Vector3 x, y;
      nearest_of_segments(from, along, a.length, centre, centre, 0, x, y);
      if (!any(norm(x - y) - Lane(a.radius + second.reach) < sink.enough())) continue;
    }
    for (int j = second.first; j < second.first + second.count; ++j) {
      const CollisionBody &b = model.bodies[j];
      Vector3 x, y;
      nearest_of_segments(from, along, a.length, point(s, b.start[0], b.start[1], b.start[2]),
                          direction(s, b.unit[0], b.unit[1], b.unit[2]), b.length, x, y);
      const Vector3 apart = x - y;
      const Lane length = norm(apart);
      const Lane c = length - Lane(a.radius + b.radius);
      if (!any(c < sink.enough())) continue;
      sink.self(pair, c, x, y, (1.0 / max(length, Lane(1e-12))) * apart);
      if (sink.done()) return;
    }
  }
}

template <class Sink>
inline void self_contacts(const CollisionView &model, const Placed &placed, Sink &sink) {
  for (int p = 0; p < model.pair_count && !sink.done(); ++p) {
    const BodyGroup &first = model.groups[model.pairs[p].first];
    const int other = model.pairs[p].second;
    if (other < model.group_count) {
      const BodyGroup &second = model.groups[other];
      bodies_contacts(model, p, first, placed.of(first.axis), second, placed.of(second.axis), sink);
      continue;
    }
    const LinkObject &second = model.link_objects[other - model.group_count];
    const auto report = [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) {
      sink.self(p, c, x, x, gradient);
    };
    if (second.axis < 0)
      group_contacts(model, first, placed.of(first.axis), second.object, FixedPose{second.object.pose}, sink, report);
    else
      group_contacts(model, first, placed.of(first.axis), second.object,
                     MovingPose{place(placed.of(second.axis), second.object.pose)}, sink, report);
  }
}

// The axis that moves the second of a pair.
MEMETIK_INLINE int second_axis(const CollisionView &model, int pair) {
  const int other = model.pairs[pair].second;
  return other < model.group_count ? model.groups[other].axis : model.link_objects[other - model.group_count].axis;
}

template <class Sink>
inline void all_contacts(const CollisionView &model, const Placed &placed, Sink &sink) {
  world_contacts(model, placed, sink);
  if (!sink.done()) self_contacts(model, placed, sink);
}

struct ClearanceSink {
  static constexpr bool kGradient = false;
  Lane best;

  MEMETIK_INLINE const Lane &enough() const { return best; }
  MEMETIK_INLINE bool done() const { return false; }
  MEMETIK_INLINE void world(int, int, const Lane &c, const Vector3 &, const Vector3 &) { best = min(best, c); }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) {
    best = min(best, c);
  }
};

// Least clearance, at most `limit`; the smaller the limit, the faster.
inline Lane least_clearance(const CollisionView &model, const CollisionAxis *axes, const Frame *frames,
                            const Lane &limit) {
  ClearanceSink sink{limit};
  all_contacts(model, placed(axes, frames), sink);
  return sink.best;
}

struct CollidesSink {
  static constexpr bool kGradient = false;
  Lane margin;
  Mask hit;
  Lane wanted;  // the margin; of lanes that are decided, nothing

  MEMETIK_INLINE const Lane &enough() const { return wanted; }
  MEMETIK_INLINE bool done() const { return !any(~hit); }
  MEMETIK_INLINE void note(const Lane &c) {
    hit = hit | (c < wanted);
    wanted = select(hit, Lane(-kFar), margin);
  }
  MEMETIK_INLINE void world(int, int, const Lane &c, const Vector3 &, const Vector3 &) { note(c); }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) { note(c); }
};

// Lanes with a clearance below the margin; lanes in `ignored` count as decided and cost nothing.
inline Mask collides(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, double margin,
                     const Mask &ignored) {
  CollidesSink sink{Lane(margin), ignored, select(ignored, Lane(-kFar), Lane(margin))};
  if (!sink.done()) all_contacts(model, placed(axes, frames), sink);
  return sink.hit & ~ignored;
}

struct HingeCostSink {
  static constexpr bool kGradient = false;
  Lane margin, cost;

  MEMETIK_INLINE const Lane &enough() const { return margin; }
  MEMETIK_INLINE bool done() const { return false; }
  MEMETIK_INLINE void note(const Lane &c) {
    const Lane h = max(margin - c, Lane(0.0));
    cost += h * h;
  }
  MEMETIK_INLINE void world(int, int, const Lane &c, const Vector3 &, const Vector3 &) { note(c); }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &, const Vector3 &, const Vector3 &) { note(c); }
};

// Sum of weight^2 max(0, margin - c)^2 over all contacts.
inline Lane hinge_cost(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, double margin,
                       double weight) {
  HingeCostSink sink{Lane(margin), Lane(0.0)};
  all_contacts(model, placed(axes, frames), sink);
  return Lane(weight * weight) * sink.cost;
}

// Memory of one thread for accumulate_hinge.
struct HingeScratch {
  Vector3 *moments;  // per axis of the tree
  Lane *row;         // per column
  int32_t *used;     // per column
  uint8_t *marked;   // per column; all zero between calls
};

// A contact's clearance changes with axis j at the rate W_j.w, w = (x cross g, g) with its point x and gradient g,
// W_j = (z_j, p_j cross z_j) for a turn, (0, z_j) for a slide. Contacts between the same two rigid parts share the W_j,
// so that their sums of w w^T and h w are taken first and the joints come in once. Axes that carry both parts change
// nothing, and the second part's count negative; w is the same for both, for the gradient is along the line between the
// points.
struct HingeSink {
  static constexpr bool kGradient = true;
  const CollisionView &model;
  const Placed &where;
  HingeScratch scratch;
  int columns;
  double weight;
  Lane margin, cost;
  Lane *jtr, *jtj;
  int first, second;  // axes of the two parts
  int contacts;
  Lane wrench[6], on, hinge;  // of the first contact
  Lane square[21], sum[6];    // of all, where there are several: lower triangle of w w^T, and h w

  MEMETIK_INLINE const Lane &enough() const { return margin; }
  MEMETIK_INLINE bool done() const { return false; }

  void world(int group, int, const Lane &c, const Vector3 &x, const Vector3 &gradient) {
    add(model.groups[group].axis, -1, c, x, gradient);
  }

  void self(int pair, const Lane &c, const Vector3 &x, const Vector3 &, const Vector3 &gradient) {
    add(model.groups[model.pairs[pair].first].axis, second_axis(model, pair), c, x, gradient);
  }

  void add(int a, int b, const Lane &c, const Vector3 &x, const Vector3 &g) {
    if (contacts > 0 && (a != first || b != second)) flush();
    first = a, second = b;
    const Lane h = max(margin - c, Lane(0.0));
    const Lane active = select(h > Lane(0.0), Lane(weight * weight), Lane(0.0));
    cost += active * h * h;
    const Vector3 turned = cross(x, g);
    const Lane w[6] = {turned.x, turned.y, turned.z, g.x, g.y, g.z};
    if (contacts++ == 0) {
      for (int i = 0; i < 6; ++i) wrench[i] = w[i];
      on = active, hinge = h;
      return;
    }
    if (contacts == 2) {
      for (Lane &entry : square) entry = Lane(0.0);
      for (Lane &entry : sum) entry = Lane(0.0);
      gather(wrench, on, hinge);
    }
    gather(w, active, h);
  }

  MEMETIK_INLINE void gather(const Lane *w, const Lane &active, const Lane &h) {
    int k = 0;
    for (int i = 0; i < 6; ++i) {
      const Lane scaled = active * w[i];
      sum[i] += scaled * h;
      for (int j = 0; j <= i; ++j) square[k++] += scaled * w[j];
    }
  }

  // Calls visit(column, W) for the columns that move the parts against each other; axes that share one are summed.
  template <class Visit>
  MEMETIK_INLINE void each_axis(const Visit &visit) const {
    int a = first, b = second;
    while (a != b) {
      const bool ahead = a > b;
      const CollisionAxis &axis = where.axes[ahead ? a : b];
      if (axis.column >= 0) {
        const Lane sign(ahead ? axis.multiplier : -axis.multiplier);
        const Vector3 &z = where.frames[axis.frame].z, &m = scratch.moments[ahead ? a : b];
        const Lane zero(0.0);
        const Lane twist[6] = {axis.prismatic ? zero : sign * z.x,
                               axis.prismatic ? zero : sign * z.y,
                               axis.prismatic ? zero : sign * z.z,
                               sign * m.x,
                               sign * m.y,
                               sign * m.z};
        visit(axis.column, twist);
      }
      (ahead ? a : b) = axis.parent;
    }
  }

  void flush() {
    if (contacts == 1)
      flush_one();
    else if (contacts > 1)
      flush_many();
    contacts = 0;
  }

  void flush_one() {
    int used = 0;
    each_axis([&](int column, const Lane *twist) {
      Lane rate = twist[0] * wrench[0];
      for (int i = 1; i < 6; ++i) rate += twist[i] * wrench[i];
      if (!scratch.marked[column]) {
        scratch.marked[column] = 1;
        scratch.used[used++] = column;
        scratch.row[column] = rate;
      } else {
        scratch.row[column] += rate;
      }
    });
    for (int i = 0; i < used; ++i) {
      const int a = scratch.used[i];
      const Lane scaled = on * scratch.row[a];
      jtr[a] -= scaled * hinge;  // the residual falls where the clearance grows
      for (int j = 0; j <= i; ++j) add_to(a, scratch.used[j], scaled * scratch.row[scratch.used[j]]);
      scratch.marked[a] = 0;
    }
  }

  void flush_many() {
    each_axis([&](int column, const Lane *twist) {
      // square * twist, from the lower triangle
      Lane image[6];
      Lane pull = twist[0] * sum[0];
      for (int i = 1; i < 6; ++i) pull += twist[i] * sum[i];
      jtr[column] -= pull;
      for (int i = 0; i < 6; ++i) {
        Lane entry(0.0);
        for (int j = 0; j < 6; ++j) entry += square[i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] * twist[j];
        image[i] = entry;
      }
      each_axis([&](int other, const Lane *second_twist) {
        if (other > column) return;  // the lower triangle; each pair of axes of one column comes twice, as it should
        Lane entry = second_twist[0] * image[0];
        for (int i = 1; i < 6; ++i) entry += second_twist[i] * image[i];
        jtj[column * columns + other] += entry;
      });
    });
  }

  MEMETIK_INLINE void add_to(int a, int b, const Lane &value) {
    Lane &entry = a > b ? jtj[a * columns + b] : jtj[b * columns + a];
    entry += value;
  }
};

// Residuals r = weight max(0, margin - c) of all contacts: adds J^T r to jtr (columns), J^T J to the lower triangle of
// jtj (columns x columns, row major) and returns the sum of r^2. axis_count: of the tree, for the scratch's moments.
inline Lane accumulate_hinge(const CollisionView &model, const CollisionAxis *axes, int axis_count, const Frame *frames,
                             int columns, double margin, double weight, Lane *jtr, Lane *jtj,
                             const HingeScratch &scratch) {
  const Placed where = placed(axes, frames);
  for (int a = 0; a < axis_count; ++a) {
    if (axes[a].frame < 0) continue;
    const Frame &f = frames[axes[a].frame];
    scratch.moments[a] = axes[a].prismatic ? f.z : cross(f.p, f.z);
  }
  HingeSink sink{model, where, scratch, columns, weight, Lane(margin), Lane(0.0), jtr, jtj,
                 -1,    -1,    0,       {},      {},     {},           {},        {}};
  all_contacts(model, where, sink);
  sink.flush();
  return sink.cost;
}

// Arc length from the chain's tip to the first sample with a clearance from the world below the margin; kFar where
// there is none.
inline Lane free_length(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, double margin) {
  const Placed where = placed(axes, frames);
  const Lane limit(margin);
  Lane arc(kFar);
  Mask open = ~none();
  int last_group = -1;
  Vector3 centre{};
  for (int i = 0; i < model.chain_count && any(open); ++i) {
    const ChainBody &link = model.chain[i];
    const BodyGroup &group = model.groups[link.group];
    const CollisionBody &body = model.bodies[link.body];
    const Frame &frame = where.of(group.axis);
    if (link.group != last_group) centre = point(frame, group.centre[0], group.centre[1], group.centre[2]);
    last_group = link.group;
    Lane first(body.samples);
    for (int o = 0; o < model.object_count; ++o) {
      if (!model.checked[size_t(link.group) * model.object_count + o]) continue;
      const WorldObject &object = model.objects[o];
      const FixedPose pose{object.pose};
      if (!any(open & (lower_bound(object, pose.into(centre)) - Lane(group.reach) < limit))) continue;
      const bool field = object.kind == ObjectKind::field;
      const double grown = body.sample_radius + object.padding;
      const double radius =
          grown + (field ? model.correction * overestimate(*object.field, grown + object.field->offset) : 0.0);
      const double loose = field ? slack(*object.field) : 0.0;
      const Vector3 start = pose.into(point(frame, body.start[0], body.start[1], body.start[2]));
      const Vector3 unit = pose.turned_in(direction(frame, body.unit[0], body.unit[1], body.unit[2]));
      const double per_step = body.spacing > 0 ? 1.0 / body.spacing : 0.0;
      Lane k(0.0);
      Mask going = open & (k < first);
      while (any(going)) {
        const Vector3 x = start + (Lane(body.spacing) * k) * unit;
        Vector3 gradient;
        const Lane c =
            (field ? lookup(*object.field, x, nullptr) : primitive_distance(object, x, gradient)) - Lane(radius);
        const Mask hit = going & (c < limit);
        first = select(hit, k, first);
        k = k + Lane(1.0) + whole((c - limit - Lane(loose)) * Lane(per_step));
        going = going & ~hit & (k < first);
        k = min(k, Lane(body.samples - 1));
      }
    }
    const Mask hit = open & (first < Lane(body.samples - 0.5));
    arc = select(hit, Lane(link.arc) + Lane(body.spacing) * first, arc);
    open = open & ~hit;
  }
  return arc;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
