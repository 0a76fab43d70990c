// The numbers of the page, and where everything is at a given time.

const meta = JSON.parse(document.getElementById("meta").textContent);
const bytes = (() => {
  const text = atob(document.getElementById("data").textContent.trim());
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found.buffer;
})();

function numbers(ref) {
  const count = ref.shape.reduce((a, b) => a * b, 1);
  return new (ref.type === "d" ? Float64Array : Float32Array)(bytes, ref.at, count);
}

let what = meta.what; // bodies, joints and so on; null where there is nothing but numbers
const dimension = what ? what.dimension : 0;
const width = dimension === 3 ? 7 : 3; // numbers per body
const begin = meta.begin;
const forward = meta.end >= meta.begin ? 1 : -1; // runs may go backward in time
const span = Math.abs(meta.end - meta.begin);

// One run. Times count from the beginning, in the direction of the run.
class Track {
  constructor(given, index) {
    this.index = index;
    this.name = given.name;
    this.ghost = Boolean(given.ghost); // the recorded run of a live page, drawn in grey below the one that is moved
    this.visible = true;
    this.failure = given.failure;
    this.tau = Float64Array.from(numbers(given.t), t => forward * (t - begin));
    this.frames = this.tau.length;
    this.last = this.tau[this.frames - 1];
    this.poses = numbers(given.poses);
    this.bodies = given.poses.shape[1];
    this.lines = numbers(given.lines);
    this.corners = given.lines.shape[1];
    this.forces = numbers(given.forces);
    this.joints = given.forces.shape[1];
    this.events = given.events.map(e => ({ name: e.name, tau: Float64Array.from(numbers(e.t), t => forward * (t - begin)) }));
    this.signals = new Map(given.signals.map(s => [s.name, { ...s }]));
    this.now = { i: 0, u: 0 };
    this.P = new Float64Array(this.bodies * width); // places of the bodies now
    this.R = new Float64Array(this.bodies * (dimension === 3 ? 9 : 2)); // rotations now
    this.L = new Float64Array(this.corners * dimension); // corners of lines now
    this.F = new Float64Array(this.joints * dimension); // forces now
  }

  // Frame before a time and the part of the way to the next.
  find(time, tau = this.tau) {
    const n = tau.length;
    if (!(time > tau[0]) || n < 2) return { i: 0, u: 0 };
    if (time >= tau[n - 1]) return { i: n - 1, u: 0 };
    let low = 0, high = n - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (tau[middle] <= time) low = middle; else high = middle;
    }
    return { i: low, u: (time - tau[low]) / (tau[high] - tau[low]) };
  }

  seek(time) {
    this.now = this.find(time);
    this.ended = time > this.last + 1e-9 * span;
    this.mix(this.poses, this.P);
    this.mix(this.lines, this.L);
    this.mix(this.forces, this.F);
    this.turn();
  }

  // Cubic through the frames: exact in them, and between them good to a fraction of a pixel, so that
  // joints which are closed stay closed on the screen.
  mix(from, out) {
    const size = out.length, { i, u } = this.now, tau = this.tau;
    if (!size) return;
    const a = i * size;
    if (u === 0) { for (let k = 0; k < size; k++) out[k] = from[a + k]; return; }
    const b = a + size, before = i > 0 ? a - size : a, after = i + 2 < this.frames ? b + size : b;
    const h = tau[i + 1] - tau[i];
    const h0 = i > 0 ? tau[i + 1] - tau[i - 1] : h, h1 = i + 2 < this.frames ? tau[i + 2] - tau[i] : h;
    const rise = u * u * (3 - 2 * u), left = h * u * (1 - u) * (1 - u), right = h * u * u * (1 - u);
    for (let k = 0; k < size; k++) {
      const x = from[a + k], y = from[b + k];
      const m0 = (y - from[before + k]) / h0, m1 = (from[after + k] - x) / h1;
      out[k] = x + rise * (y - x) + left * m0 - right * m1;
    }
  }

  turn() {
    const { P, R } = this;
    for (let k = 0; k < this.bodies; k++) {
      if (dimension === 2) {
        R[2 * k] = Math.cos(P[3 * k + 2]);
        R[2 * k + 1] = Math.sin(P[3 * k + 2]);
      } else rotation(P, 7 * k + 3, R, 9 * k);
    }
  }

  // A point of a body, given in its frame, where it is now; body -1 is the ground.
  place(body, at) {
    if (body < 0) return at;
    const { P, R } = this;
    if (dimension === 2) {
      const c = R[2 * body], s = R[2 * body + 1];
      return [P[3 * body] + c * at[0] - s * at[1], P[3 * body + 1] + s * at[0] + c * at[1]];
    }
    const o = 9 * body, p = 7 * body;
    return [0, 1, 2].map(i => P[p + i] + R[o + 3 * i] * at[0] + R[o + 3 * i + 1] * at[1] + R[o + 3 * i + 2] * at[2]);
  }

  // A direction of a body, given in its frame.
  direct(body, d) {
    if (body < 0) return d;
    const { R } = this;
    if (dimension === 2) return [R[2 * body] * d[0] - R[2 * body + 1] * d[1], R[2 * body + 1] * d[0] + R[2 * body] * d[1]];
    const o = 9 * body;
    return [0, 1, 2].map(i => R[o + 3 * i] * d[0] + R[o + 3 * i + 1] * d[1] + R[o + 3 * i + 2] * d[2]);
  }

  // A point of a body in all frames, one after the other.
  path(body, at) {
    const found = new Float32Array(this.frames * dimension), back = this.now;
    for (let f = 0; f < this.frames; f++) {
      this.now = { i: f, u: 0 };
      this.mix(this.poses, this.P);
      this.turn();
      found.set(this.place(body, at), f * dimension);
    }
    this.now = back;
    this.mix(this.poses, this.P);
    this.turn();
    return found;
  }
}

function rotation(P, at, R, o) {
  const a = P[at], b = P[at + 1], c = P[at + 2], d = P[at + 3], f = 1 / (a * a + b * b + c * c + d * d);
  R[o] = (a * a + b * b - c * c - d * d) * f; R[o + 1] = 2 * (b * c - a * d) * f; R[o + 2] = 2 * (b * d + a * c) * f;
  R[o + 3] = 2 * (b * c + a * d) * f; R[o + 4] = (a * a - b * b + c * c - d * d) * f; R[o + 5] = 2 * (c * d - a * b) * f;
  R[o + 6] = 2 * (b * d - a * c) * f; R[o + 7] = 2 * (c * d + a * b) * f; R[o + 8] = (a * a - b * b - c * c + d * d) * f;
}

const tracks = meta.tracks.map((given, index) => new Track(given, index));
const several = tracks.filter(track => !track.ghost).length > 1;
const drawnOf = track => track.what || meta.what; // the recorded run of a live page keeps its shapes
const byRun = track => several || track.ghost; // whether colours tell runs apart, not bodies

// Things that can leave a trace: [name, body, place in its frame], or corners of lines.
const traceable = new Map();
if (what) {
  const put = (name, it) => { if (!traceable.has(name)) traceable.set(name, it); };
  for (const p of what.points) put(p.name, { body: p.body, at: p.at, hue: Math.max(0, p.body) });
  what.bodies.forEach((b, k) => put(b.name, { body: k, at: Array(dimension).fill(0), hue: k }));
  for (const j of what.joints) put(j.name, { body: j.bodies[1], at: j.at[1], hue: Math.max(0, j.bodies[1]) });
  (what.lines || []).forEach((l, n) => put(l.name, { corner: l.first + l.count - 1, hue: n }));
}

function pathOf(track, name) {
  track.paths = track.paths || new Map();
  if (!track.paths.has(name)) {
    const it = traceable.get(name);
    let path;
    if (it.corner === undefined) path = track.path(it.body, it.at);
    else {
      path = new Float32Array(track.frames * dimension);
      for (let f = 0; f < track.frames; f++)
        for (let d = 0; d < dimension; d++) path[f * dimension + d] = track.lines[(f * track.corners + it.corner) * dimension + d];
    }
    track.paths.set(name, path);
  }
  return track.paths.get(name);
}

// Signals by name: what the runs bring, and what follows from the places of bodies and the forces of joints.
const signals = new Map();
for (const s of meta.tracks[0].signals) {
  signals.set(s.name, {
    ...s,
    get: track => {
      const own = track.signals.get(s.name);
      if (!own) return null;
      own.numbers = own.numbers || numbers(own.values);
      if (own.t && !own.tau) own.tau = Float64Array.from(numbers(own.t), t => forward * (t - begin));
      return { tau: own.tau || track.tau, values: own.numbers, lines: own.values.shape[1] };
    },
  });
}
if (what) {
  const axes = ["x", "y", "z"].slice(0, dimension);
  meta.forceful.forEach((name, k) => signals.set(`${name}.force`, {
    name: `${name}.force`, group: "Joint forces", unit: "N", labels: [...axes, "size"],
    get: track => derived(track, `${name}.force`, dimension + 1, (f, out) => {
      let sum = 0;
      for (let d = 0; d < dimension; d++) {
        out[d] = track.forces[(f * track.joints + k) * dimension + d];
        sum += out[d] * out[d];
      }
      out[dimension] = Math.sqrt(sum);
    }),
  }));
  what.bodies.forEach((body, k) => {
    signals.set(`${body.name}.position`, {
      name: `${body.name}.position`, group: "Bodies", unit: "m", labels: axes,
      get: track => derived(track, `${body.name}.position`, dimension, (f, out) => {
        for (let d = 0; d < dimension; d++) out[d] = track.poses[(f * track.bodies + k) * width + d];
      }),
    });
    if (dimension === 2) signals.set(`${body.name}.angle`, {
      name: `${body.name}.angle`, group: "Bodies", unit: "rad", labels: [""],
      get: track => derived(track, `${body.name}.angle`, 1, (f, out) => { out[0] = track.poses[(f * track.bodies + k) * 3 + 2]; }),
    });
  });
}

signals.set("time", {
  name: "time", group: "Run", unit: "s", labels: [""],
  get: track => derived(track, "time", 1, (f, out) => { out[0] = begin + forward * track.tau[f]; }),
});

function derived(track, name, lines, fill) {
  track.made = track.made || new Map();
  if (!track.made.has(name)) {
    const values = new Float32Array(track.frames * lines), row = new Float64Array(lines);
    for (let f = 0; f < track.frames; f++) { fill(f, row); values.set(row, f * lines); }
    track.made.set(name, { tau: track.tau, values, lines });
  }
  return track.made.get(name);
}

// Value of a line of a signal at a time: straight between its times, the last one on logarithmic axes.
function valueAt(track, found, line, time, steps) {
  const { i, u } = track.find(time, found.tau), n = found.lines, a = found.values[i * n + line];
  if (steps || u === 0) return a;
  return a + u * (found.values[(i + 1) * n + line] - a);
}
