// Triangles of shapes: six numbers a corner, its place and its normal.

// Corners of round things: fewer where there are many bodies.
const fine = n => !what || what.bodies.length < 20 ? n : what.bodies.length < 200 ? Math.ceil(0.6 * n) : Math.ceil(0.4 * n);

class Mesh {
  constructor() { this.numbers = []; }

  corner(p, n) { this.numbers.push(p[0], p[1], p[2], n[0], n[1], n[2]); }

  triangle(a, b, c, na, nb, nc) {
    const n = na || normalOf(a, b, c);
    this.corner(a, n); this.corner(b, nb || n); this.corner(c, nc || n);
  }

  quad(a, b, c, d, na, nb, nc, nd) {
    this.triangle(a, b, c, na, nb, nc);
    this.triangle(a, c, d, na, nc, nd);
  }

  // Add another mesh, turned by rows of a matrix and moved.
  add(mesh, centre = [0, 0, 0], A = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]) {
    const from = mesh.numbers, turn = (x, y, z) => A.map(row => row[0] * x + row[1] * y + row[2] * z);
    for (let k = 0; k < from.length; k += 6) {
      const p = turn(from[k], from[k + 1], from[k + 2]), n = turn(from[k + 3], from[k + 4], from[k + 5]);
      this.corner([p[0] + centre[0], p[1] + centre[1], p[2] + centre[2]], n);
    }
    return this;
  }
}

const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = a => times(1 / (Math.hypot(...a) || 1), a);
const normalOf = (a, b, c) => unit(cross(minus(b, a), minus(c, a)));

function boxMesh([a, b, c]) {
  const mesh = new Mesh(), s = (x, y, z) => [x * a / 2, y * b / 2, z * c / 2];
  for (const d of [0, 1, 2]) for (const sign of [-1, 1]) {
    const at = (u, v) => { const p = [0, 0, 0]; p[d] = sign; p[(d + 1) % 3] = u; p[(d + 2) % 3] = v * sign; return s(...p); };
    mesh.quad(at(-1, -1), at(1, -1), at(1, 1), at(-1, 1));
  }
  return mesh;
}

// Around the x axis; round ends where `ball` is set, a hole where inner > 0.
function cylinderMesh(length, radius, inner = 0, ball = false, sides = fine(20)) {
  const mesh = new Mesh(), at = (x, r, i) => [x, r * Math.cos(2 * Math.PI * i / sides), r * Math.sin(2 * Math.PI * i / sides)];
  const h = length / 2;
  for (let i = 0; i < sides; i++) {
    const n = at(0, 1, i), m = at(0, 1, i + 1);
    mesh.quad(at(-h, radius, i), at(h, radius, i), at(h, radius, i + 1), at(-h, radius, i + 1), n, n, m, m);
    if (inner > 0) {
      const k = times(-1, n), l = times(-1, m);
      mesh.quad(at(-h, inner, i + 1), at(h, inner, i + 1), at(h, inner, i), at(-h, inner, i), l, l, k, k);
    }
    if (!ball) for (const s of [-1, 1]) {
      const face = [s, 0, 0];
      mesh.quad(at(s * h, inner, i), at(s * h, radius, i), at(s * h, radius, i + 1), at(s * h, inner, i + 1), face, face, face, face);
    }
  }
  if (ball) for (const s of [-1, 1]) mesh.add(sphereMesh(radius, fine(8)), [s * h, 0, 0]);
  return mesh;
}

function sphereMesh(radius, rings = fine(16)) {
  const mesh = new Mesh(), sides = 2 * rings;
  const at = (i, j) => {
    const a = Math.PI * i / rings, b = 2 * Math.PI * j / sides;
    return [Math.cos(a), Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b)];
  };
  for (let i = 0; i < rings; i++) for (let j = 0; j < sides; j++) {
    const n = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)], p = n.map(v => times(radius, v));
    if (i > 0) mesh.triangle(p[0], p[1], p[3], n[0], n[1], n[3]);
    if (i < rings - 1) mesh.triangle(p[3], p[1], p[2], n[3], n[1], n[2]);
  }
  return mesh;
}

// A spring of length 1 along x and radius 1, to be stretched.
function springMesh(turns = 9, thick = 0.17) {
  const mesh = new Mesh(), steps = turns * 16, sides = 6;
  const line = s => [s, Math.cos(2 * Math.PI * turns * s), Math.sin(2 * Math.PI * turns * s)];
  const ring = k => {
    const s = k / steps, p = line(s), radial = [0, p[1], p[2]];
    return [...Array(sides).keys()].map(i => {
      const a = 2 * Math.PI * i / sides, n = unit(plus(times(Math.cos(a), radial), times(Math.sin(a), [1, 0, 0])));
      return [[p[0] + n[0] * thick * 0.06, p[1] + n[1] * thick, p[2] + n[2] * thick], n];
    });
  };
  let before = ring(0);
  for (let k = 1; k <= steps; k++) {
    const next = ring(k);
    for (let i = 0; i < sides; i++) {
      const j = (i + 1) % sides, c = [before[i], next[i], next[j], before[j]];
      mesh.quad(c[0][0], c[1][0], c[2][0], c[3][0], c[0][1], c[1][1], c[2][1], c[3][1]);
    }
    before = next;
  }
  return mesh;
}

// Rows of a matrix whose first column is a direction.
function along(d) {
  const x = unit(d), help = Math.abs(x[2]) < 0.9 ? [0, 0, 1] : [0, 1, 0], y = unit(cross(help, x)), z = cross(x, y);
  return [0, 1, 2].map(i => [x[i], y[i], z[i]]);
}

function barBetween(a, b, radius) {
  const d = minus(b, a);
  return new Mesh().add(cylinderMesh(Math.hypot(...d), radius, 0, true, 14), times(0.5, plus(a, b)), along(d));
}

// All shapes of a body in its frame; `size` is that of the whole mechanism.
function bodyMesh(shapes, size) {
  const mesh = new Mesh(), thin = 0.012 * size;
  for (const s of shapes) {
    let part;
    if (s.kind === "box") part = boxMesh(s.size.map(x => Math.max(x, 0.25 * thin)));
    else if (s.kind === "rod") part = cylinderMesh(s.length, Math.max(s.width / 2, 0.3 * thin), 0, true);
    else if (s.kind === "cylinder") part = cylinderMesh(s.length, s.radius, s.inner, false, 32);
    else if (s.kind === "sphere") part = sphereMesh(s.radius);
    else if (s.kind === "disk") part = spoked(s, 0.05 * s.radius);
    else if (s.kind === "mesh") {
      part = new Mesh();
      for (const t of s.triangles) part.triangle(t.slice(0, 3), t.slice(3, 6), t.slice(6, 9));
    } else if (s.kind === "sketch") {
      const middle = [0, 0, 0], ends = s.points.length === 2 ? [[s.points[0], s.points[1]]] : s.points.map(p => [middle, p]);
      const radius = s.width ? Math.max(s.width / 2, 0.3 * thin) : 0.7 * thin;
      for (const [a, b] of ends) if (Math.hypot(...minus(a, b)) > 1e-9) mesh.add(barBetween(a, b, radius));
      if (s.points.length !== 2) mesh.add(sphereMesh(1.6 * thin));
      continue;
    } else continue;
    mesh.add(part, s.centre, s.axes);
  }
  return mesh;
}

// A disk with a groove across, so that one sees it turn.
function spoked(s, thick) {
  const mesh = cylinderMesh(thick, s.radius, s.inner, false, 40);
  const from = Math.max(s.inner, 0.12 * s.radius), length = 0.94 * s.radius - from;
  for (const side of [-1, 1])
    mesh.add(boxMesh([0.5 * thick, length, 0.05 * s.radius]), [side * 0.5 * thick, from + length / 2, 0]);
  return mesh;
}
