// What is drawn the same way in the plane and in space: traces, joints, springs, forces, names.
// `to` takes a point of the world to the screen.

const HELD = ["revolute", "spherical", "fixed", "universal"]; // joints whose two points should coincide

function drawTraces(g, to, chosen) {
  g.lineJoin = "round";
  for (const track of tracks) {
    if (!track.visible) continue;
    g.globalAlpha = track.ghost ? 0.6 : 1;
    for (const name of chosen) {
      const path = pathOf(track, name), colour = byRun(track) ? trackColour(track) : look.lines[traceable.get(name).hue % look.lines.length];
      g.lineWidth = 1.2;
      g.strokeStyle = clear(colour, 0.28);
      stroke(g, to, path, 0, track.frames);
      g.lineWidth = 1.8;
      g.strokeStyle = clear(colour, 0.9);
      stroke(g, to, path, 0, track.now.i + 1);
    }
  }
  g.globalAlpha = 1;
}

function stroke(g, to, path, first, last) {
  const d = dimension;
  let pen = false;
  g.beginPath();
  for (let f = first; f < last; f++) {
    const p = to(d === 2 ? [path[2 * f], path[2 * f + 1]] : [path[3 * f], path[3 * f + 1], path[3 * f + 2]]);
    if (!Number.isFinite(p[0] + p[1])) pen = false;
    else if (pen) g.lineTo(p[0], p[1]);
    else { g.moveTo(p[0], p[1]); pen = true; }
  }
  g.stroke();
}

function drawJoints(g, to, track) {
  const r = what.joints.length > 300 ? 2 : what.joints.length > 60 ? 3 : 4.2;
  const gaps = [];
  g.lineWidth = r > 3 ? 1.6 : 1;
  g.strokeStyle = byRun(track) ? shade(trackColour(track), 0.35, look.ink) : look.ink;
  g.fillStyle = look.ground;
  g.beginPath();
  for (const joint of what.joints) {
    if (joint.kind === "gear" || joint.kind === "skate") continue;
    const b = to(track.place(joint.bodies[1], joint.at[1]));
    if (!Number.isFinite(b[0] + b[1])) continue;
    if (HELD.includes(joint.kind)) {
      const a = to(track.place(joint.bodies[0], joint.at[0]));
      if (Math.hypot(a[0] - b[0], a[1] - b[1]) > 2) gaps.push([a, b]);
    }
    if (joint.kind === "fixed") g.rect(b[0] - r + 1, b[1] - r + 1, 2 * r - 2, 2 * r - 2);
    else if (joint.kind === "rolling" || joint.kind === "rack-and-pinion") continue;
    else { g.moveTo(b[0] + r, b[1]); g.arc(b[0], b[1], r, 0, 7); }
  }
  g.fill();
  g.stroke();
  if (gaps.length) { // joints that have come apart
    g.strokeStyle = look.alarm;
    g.lineWidth = 2.4;
    g.setLineDash([4, 3]);
    g.beginPath();
    for (const [a, b] of gaps) { g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); }
    g.stroke();
    g.setLineDash([]);
    g.lineWidth = 1.6;
    for (const [a, b] of gaps)
      for (const p of [a, b]) { g.beginPath(); g.arc(p[0], p[1], r, 0, 7); g.fill(); g.stroke(); }
  }
  track.apart = gaps.length;
}

// A spring, damper or rod between two points of the screen.
function drawLink(g, kind, a, b, colour) {
  const dx = b[0] - a[0], dy = b[1] - a[1], l = Math.hypot(dx, dy);
  if (!(l > 1)) return;
  const ux = dx / l, uy = dy / l, at = (s, h) => [a[0] + ux * s - uy * h, a[1] + uy * s + ux * h];
  g.strokeStyle = colour;
  g.lineWidth = 1.8;
  g.lineJoin = "round";
  g.beginPath();
  g.moveTo(a[0], a[1]);
  if (kind === "spring") {
    const turns = 8, end = Math.min(12, l / 6);
    g.lineTo(...at(end, 0));
    for (let k = 0; k < 2 * turns; k++) g.lineTo(...at(end + (l - 2 * end) * (k + 0.5) / (2 * turns), k % 2 ? -6 : 6));
    g.lineTo(...at(l - end, 0));
    g.lineTo(b[0], b[1]);
  } else if (kind === "damper") {
    g.lineTo(...at(l * 0.4, 0));
    for (const [s, h] of [[0.65, 6], [0.4, 6], [0.4, -6], [0.65, -6]]) g[h === 6 && s > 0.6 ? "moveTo" : "lineTo"](...at(l * s, h));
    g.moveTo(...at(l * 0.55, 5)); g.lineTo(...at(l * 0.55, -5));
    g.moveTo(...at(l * 0.55, 0)); g.lineTo(b[0], b[1]);
  } else g.lineTo(b[0], b[1]);
  g.stroke();
}

// The force that is drawn as long as a fifth of the picture: nearly the largest of all.
let strongest = null;
function forceScale() {
  if (strongest === null) {
    const sizes = [];
    for (const track of tracks)
      for (let k = 0; k < track.forces.length; k += dimension) {
        let sum = 0;
        for (let d = 0; d < dimension; d++) sum += track.forces[k + d] ** 2;
        if (Number.isFinite(sum)) sizes.push(sum);
      }
    sizes.sort((a, b) => a - b);
    strongest = sizes.length ? Math.sqrt(sizes[Math.floor(0.985 * (sizes.length - 1))]) : 0;
  }
  return strongest;
}

function drawForces(g, to, track, metre) {
  const scale = forceScale();
  if (!(scale > 0)) return;
  const parts = [...what.joints, ...what.links.filter(l => l.kind === "distance")], longest = 0.2 * metre;
  g.strokeStyle = g.fillStyle = byRun(track) ? trackColour(track) : look.force;
  g.lineWidth = 2.2;
  g.lineJoin = "round";
  parts.forEach((part, k) => {
    const p = track.place(part.bodies[1], part.at[1]);
    const force = Array.from(track.F.subarray(k * dimension, (k + 1) * dimension));
    const size = Math.hypot(...force);
    if (!(size > 0.004 * scale)) return;
    const length = longest * Math.min(size, 3 * scale) / scale / size;
    const a = to(p), b = to(p.map((x, d) => x + force[d] * length));
    const l = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (!(l > 3)) return;
    const ux = (b[0] - a[0]) / l, uy = (b[1] - a[1]) / l, head = Math.min(9, l);
    g.beginPath();
    g.moveTo(a[0], a[1]);
    g.lineTo(b[0] - ux * head * 0.7, b[1] - uy * head * 0.7);
    g.stroke();
    g.beginPath();
    g.moveTo(b[0], b[1]);
    g.lineTo(b[0] - ux * head - uy * head * 0.45, b[1] - uy * head + ux * head * 0.45);
    g.lineTo(b[0] - ux * head + uy * head * 0.45, b[1] - uy * head - ux * head * 0.45);
    g.fill();
  });
}

function drawNames(g, to, track) {
  g.font = FONT;
  g.textBaseline = "middle";
  g.lineWidth = 3.5;
  g.lineJoin = "round";
  const put = (name, p, dx, dy, strong) => {
    if (!Number.isFinite(p[0] + p[1])) return;
    g.strokeStyle = look.ground;
    g.fillStyle = strong ? look.ink : look.edge;
    g.strokeText(name, p[0] + dx, p[1] + dy);
    g.fillText(name, p[0] + dx, p[1] + dy);
  };
  const zero = Array(dimension).fill(0);
  what.bodies.forEach((b, k) => put(b.name, to(track.place(k, zero)), 8, 10, true));
  for (const j of what.joints) put(j.name, to(track.place(j.bodies[1], j.at[1])), 8, -9, false);
  for (const p of what.points) put(p.name, to(track.place(p.body, p.at)), 8, -9, false);
  for (const l of what.lines || []) {
    const c = (l.first + l.count - 1) * dimension;
    put(l.name, to(Array.from(track.L.subarray(c, c + dimension))), 10, -10, true);
  }
}

function drawPoints(g, to, track) {
  g.fillStyle = byRun(track) ? trackColour(track) : look.ink;
  for (const p of what.points) {
    const [x, y] = to(track.place(p.body, p.at));
    g.beginPath();
    g.arc(x, y, 2.6, 0, 7);
    g.fill();
  }
}
