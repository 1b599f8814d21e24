// A link on a surface, where the ray along one of its axes meets it. Included by kernels only.
#pragma once

#include "evaluation.h"
#include "point_distance.h"
#include "terms.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// A term's data, read.
struct Projection {
  const double *axis;
  double stand_off, least, most;
  bool has_fallback;
  const double *fallback;  // as the data of a point term, whose first nine numbers are a rotation term's

  explicit Projection(const double *d)
      : axis(d + 1), stand_off(d[4]), least(d[5]), most(d[6]), has_fallback(d[7] != 0), fallback(d + 8) {}
};

// Where the lanes' rays meet the surface: x + along a, with the normal there. Lanes that miss it get its nearest point
// instead: the normal there, and in `along` the height above it.
struct Met {
  Lane along;
  Vector3 normal;
  Mask hit;
};

inline Met meet(const Surface &surface, const Projection &p, const Vector3 &x, const Vector3 &a, int32_t *guess) {
  Lane along(0.0), hit(0.0);
  Vector3 normal = zero3();
  for (int lane = 0; lane < kWidth; ++lane) {
    double from[3], way[3];
    store(x, lane, from);
    store(a, lane, way);
    SurfaceHit found;
    if (surface_hit(surface, from, way, p.least, p.most, found)) {
      set(hit, lane, 1.0);
    } else if (!p.has_fallback) {
      found.along = surface_distance(surface, from, found.normal, guess[lane]);
    } else {
      continue;
    }
    set(along, lane, found.along);
    load(found.normal, lane, normal);
  }
  return {along, normal, hit > Lane(0.5)};
}

MEMETIK_INLINE Row choose_row(const Mask &m, const Row &a, const Row &b) {
  return {select(m, a.r, b.r), choose(m, a.linear, b.linear), choose(m, a.angular, b.angular)};
}

// x - (h + stand_off n) with h = x + t a where the ray hits. On the plane through h across n, t = n.(h - x) / n.a, so that
// dt = -n.(v + t w x a) / n.a and r = -t a - stand_off n changes by -(dt a + t w x a).
// Where it misses, h is the nearest point: r = (height - stand_off) n.
inline void project_point_rows(const ProblemView &v, const Evaluation &e, const Term &term, const double *d, const Frame &f,
                               Row *rows) {
  const Projection p(d);
  const Vector3 a = turn(f, vector(p.axis));
  const Met met = meet(*v.geometries[int(d[0])].surfaces[0], p, f.p, a, e.guess + size_t(term.guess) * kWidth);
  const Lane t = met.along, cosine = dot(met.normal, a);
  const Lane inverse = select(met.hit, 1.0 / select(met.hit, cosine, Lane(1.0)), Lane(0.0));
  const Lane stand_off(p.stand_off);
  const Lane n[3] = {met.normal.x, met.normal.y, met.normal.z}, along[3] = {a.x, a.y, a.z};
  const Vector3 units[3] = {{Lane(1.0), Lane(0.0), Lane(0.0)}, {Lane(0.0), Lane(1.0), Lane(0.0)}, {Lane(0.0), Lane(0.0), Lane(1.0)}};
  Row away[3];
  if (p.has_fallback) point_rows(p.fallback, f, away);
  for (int k = 0; k < 3; ++k) {
    const Vector3 slip = (along[k] * inverse) * met.normal;
    const Row hit = {-(t * along[k]) - stand_off * n[k], slip, -(t * cross(a, units[k] - slip))};
    const Row miss = p.has_fallback ? away[k] : Row{(t - stand_off) * n[k], n[k] * met.normal, zero3()};
    rows[k] = choose_row(met.hit, hit, miss);
  }
}

// a + n: the axis against the normal; where there is none, the turn from the fallback.
inline void project_axis_rows(const ProblemView &v, const Evaluation &e, const Term &term, const double *d, const Frame &f,
                              Row *rows) {
  const Projection p(d);
  const Vector3 a = turn(f, vector(p.axis));
  const Met met = meet(*v.geometries[int(d[0])].surfaces[0], p, f.p, a, e.guess + size_t(term.guess) * kWidth);
  const Vector3 r = a + met.normal;
  const Row against[3] = {{r.x, zero3(), {Lane(0.0), a.z, -a.y}}, {r.y, zero3(), {-a.z, Lane(0.0), a.x}}, {r.z, zero3(), {a.y, -a.x, Lane(0.0)}}};
  Row away[3];
  if (p.has_fallback) rotation_rows(p.fallback, f, away);
  for (int k = 0; k < 3; ++k) rows[k] = p.has_fallback ? choose_row(met.hit, against[k], away[k]) : against[k];
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
