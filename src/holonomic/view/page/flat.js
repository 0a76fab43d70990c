// Mechanisms in the plane, on a canvas.

class Flat {
  constructor(canvas) {
    this.canvas = canvas;
    this.g = canvas.getContext("2d");
    this.to = p => [(p[0] - this.x) * this.k + this.w / 2, this.h / 2 - (p[1] - this.y) * this.k];
    this.travel();
    this.resize();
    this.fit();
  }

  resize() {
    Object.assign(this, fitCanvas(this.canvas));
    if (!this.moved) this.fit();
  }

  // How far sliders slide and wheels roll along their guides, in the frame of the first body.
  travel() {
    this.guides = new Map();
    for (const joint of what.joints) {
      if (!joint.axis || joint.kind === "skate") continue;
      let low = 0, high = 0;
      for (const track of tracks) {
        const path = track.path(joint.bodies[1], joint.at[1]), base = track.path(joint.bodies[0], joint.at[0]);
        const tip = track.path(joint.bodies[0], joint.at[0].map((x, d) => x + joint.axis[d]));
        for (let f = 0; f < track.frames; f += 1) {
          const dx = path[2 * f] - base[2 * f], dy = path[2 * f + 1] - base[2 * f + 1];
          const s = dx * (tip[2 * f] - base[2 * f]) + dy * (tip[2 * f + 1] - base[2 * f + 1]);
          if (s < low) low = s;
          if (s > high) high = s;
        }
      }
      this.guides.set(joint.name, [low, high]);
    }
  }

  // All points of the drawing in some frames; a run that flies apart must not make the others small.
  extent() {
    const boxes = tracks.map(track => {
      const xs = [], ys = [];
      const back = track.now, stride = Math.max(1, Math.floor(track.frames / 150));
      const put = (p, r) => { if (Number.isFinite(p[0] + p[1])) { xs.push(p[0] - r, p[0] + r); ys.push(p[1] - r, p[1] + r); } };
      for (let f = 0; f < track.frames; f += stride) {
        track.now = { i: f, u: 0 };
        track.mix(track.poses, track.P);
        track.mix(track.lines, track.L);
        track.turn();
        what.bodies.forEach((body, k) => body.shapes.forEach(s => outline(s).forEach(p => put(track.place(k, p), 0))));
        for (const part of [...what.joints, ...what.links]) part.at.forEach((at, e) => put(track.place(part.bodies[e], at), 0));
        for (let c = 0; c < track.corners; c++) put([track.L[2 * c], track.L[2 * c + 1]], 0);
      }
      what.ground.forEach(s => outline(s).forEach(p => put(p, 0)));
      track.now = back;
      return box(xs, ys);
    }).filter(Boolean);
    if (!boxes.length) return { x: 0, y: 0, w: 1, h: 1 };
    boxes.sort((a, b) => Math.max(a.w, a.h) - Math.max(b.w, b.h));
    return boxes.length > 1 ? join(boxes.filter(b => Math.max(b.w, b.h) < 2 * Math.max(boxes[0].w, boxes[0].h))) : boxes[0];
  }

  fit() {
    this.bounds = this.bounds || this.extent();
    const { x, y, w, h } = this.bounds, margin = this.w < 500 ? 34 : 52;
    this.x = x; this.y = y;
    this.k = Math.min((this.w - 2 * margin) / Math.max(w, 1e-12), (this.h - 2 * margin - 16) / Math.max(h, 1e-12));
    if (!Number.isFinite(this.k) || this.k <= 0) this.k = 100;
    this.base = this.k;
    this.moved = false;
  }

  pan(dx, dy) { this.x -= dx / this.k; this.y += dy / this.k; this.moved = true; }

  zoom(factor, px, py) {
    const k = Math.min(Math.max(this.k * factor, this.base / 50), this.base * 2000);
    const wx = this.x + (px - this.w / 2) / this.k, wy = this.y - (py - this.h / 2) / this.k;
    this.x = wx - (px - this.w / 2) / k;
    this.y = wy + (py - this.h / 2) / k;
    this.k = k;
    this.moved = true;
  }

  draw(show) {
    const { g } = this, r = ratio();
    g.setTransform(r, 0, 0, r, 0, 0);
    g.clearRect(0, 0, this.w, this.h);
    if (show.grid) this.grid();
    if (show.traces.size) drawTraces(g, this.to, show.traces);
    for (const track of tracks) {
      if (!track.visible) continue;
      g.globalAlpha = trackAlpha(track);
      what = drawnOf(track);
      this.track(track, show);
    }
    for (const track of tracks) {
      if (!track.visible) continue;
      g.globalAlpha = trackAlpha(track);
      what = drawnOf(track);
      this.marks(track, show);
    }
    what = meta.what;
    g.globalAlpha = 1;
    return this.scale();
  }

  track(track, show) {
    const { g, to } = this;
    for (const shape of what.ground) this.shape(shape, track, -1, look.edge);
    if (show.joints) this.supports(track);
    const many = track.bodies > 1500;
    if (many) this.sticks(track);
    else what.bodies.forEach((body, k) => {
      if (!Number.isFinite(track.P[3 * k] + track.P[3 * k + 1])) return;
      for (const shape of body.shapes) this.shape(shape, track, k, bodyColour(track, k));
    });
    this.polylines(track);
    for (const link of what.links) {
      const [a, b] = link.at.map((at, e) => to(track.place(link.bodies[e], at)));
      const colour = byRun(track) ? shade(trackColour(track), 0.2, look.ink) : link.kind === "distance" ? look.ink : look.edge;
      drawLink(g, link.kind, a, b, colour);
      g.fillStyle = colour;
      for (const p of [a, b]) { g.beginPath(); g.arc(p[0], p[1], 2.6, 0, 7); g.fill(); }
    }
  }

  marks(track, show) {
    const { g, to } = this;
    if (show.joints && track.bodies <= 1500) drawJoints(g, to, track);
    drawPoints(g, to, track);
    if (show.forces) drawForces(g, to, track, Math.min(this.w, this.h) / this.k);
    if (show.names) drawNames(g, to, track);
  }

  // Of several runs the first is solid, the others can be seen through.
  fill(track, colour) {
    const pale = shade(colour, look.name === "dark" ? 0.25 : 0.42, look.ground);
    return (several && track.index > 0) || track.ghost ? clear(pale, 0.35) : pale;
  }

  shape(shape, track, k, colour) {
    const { g, to } = this, at = p => to(track.place(k, inShape(shape, p)));
    g.fillStyle = this.fill(track, colour);
    g.strokeStyle = shade(colour, 0.12, look.ink);
    g.lineWidth = 1.5;
    g.lineJoin = g.lineCap = "round";
    if (shape.kind === "rod") {
      const a = at([-shape.length / 2, 0]), b = at([shape.length / 2, 0]);
      this.bar([a, b], Math.max(5, Math.min(shape.width * this.k, 0.4 * shape.length * this.k)), g.strokeStyle, g.fillStyle);
    } else if (shape.kind === "disk") {
      const c = at([0, 0]), radius = shape.radius * this.k;
      g.beginPath();
      g.arc(c[0], c[1], radius, 0, 7);
      if (shape.inner) g.arc(c[0], c[1], shape.inner * this.k, 0, 7, true);
      g.fill("evenodd");
      g.stroke();
      if (shape.inner) { g.beginPath(); g.arc(c[0], c[1], shape.inner * this.k, 0, 7); g.stroke(); }
      const rim = at([shape.radius, 0]), hub = shape.inner ? at([shape.inner, 0]) : c; // a spoke shows how it turns
      g.beginPath(); g.moveTo(...hub); g.lineTo(...rim); g.stroke();
    } else if (shape.kind === "sketch") this.sketch(shape, shape.points.map(p => to(track.place(k, p))), track, k, colour);
    else {
      g.beginPath();
      outline(shape).forEach((p, i) => g[i ? "lineTo" : "moveTo"](...to(track.place(k, p))));
      g.closePath();
      g.fill();
      g.stroke();
    }
  }

  // A bar with round ends through some points.
  bar(points, thick, edge, fill) {
    const { g } = this, r = thick / 2;
    g.lineWidth = 1.5;
    g.strokeStyle = edge;
    g.fillStyle = fill;
    for (let k = 0; k + 1 < points.length; k++) {
      const [a, b] = [points[k], points[k + 1]], turn = Math.atan2(b[1] - a[1], b[0] - a[0]), half = Math.PI / 2;
      g.beginPath();
      g.arc(a[0], a[1], r, turn + half, turn + 3 * half);
      g.arc(b[0], b[1], r, turn - half, turn + half);
      g.closePath();
      g.fill();
      g.stroke();
    }
  }

  // A body that was given no shape: what holds its joints together.
  sketch(shape, points, track, k, colour) {
    const { g, to } = this, centre = to(track.place(k, [0, 0]));
    const edge = g.strokeStyle, fill = g.fillStyle;
    const size = Math.min(7, 0.05 * Math.min(this.w, this.h));
    if (points.length <= 1 && shape.slides) {
      const d = track.direct(k, shape.slides), n = Math.hypot(...d), u = [d[0] / n, -d[1] / n];
      g.beginPath();
      [[15, 10], [-15, 10], [-15, -10], [15, -10]].forEach(([a, b], i) =>
        g[i ? "lineTo" : "moveTo"](centre[0] + a * u[0] - b * u[1], centre[1] + a * u[1] + b * u[0]));
      g.closePath(); g.fill(); g.stroke();
      return;
    }
    if (points.length >= 3) {
      const hull = hullOf(points);
      g.beginPath();
      hull.forEach((p, i) => g[i ? "lineTo" : "moveTo"](p[0], p[1]));
      g.closePath();
      g.lineWidth = 9; g.strokeStyle = edge; g.stroke();
      g.lineWidth = 6; g.strokeStyle = fill; g.stroke(); g.fill();
    } else if (points.length === 2) this.bar(points, shape.width ? Math.max(5, shape.width * this.k) : 8, edge, fill);
    else if (points.length === 1 && Math.hypot(points[0][0] - centre[0], points[0][1] - centre[1]) > 2) this.bar([points[0], centre], 7, edge, fill);
    g.lineWidth = 1.5;
    g.strokeStyle = edge;
    if (points.length < 2) { // a mass
      g.fillStyle = colour;
      g.beginPath(); g.arc(centre[0], centre[1], size, 0, 7); g.fill(); g.stroke();
    }
  }

  // Thousands of bodies: plain lines, all of one colour at once.
  sticks(track) {
    const { g, to } = this;
    for (let hue = 0; hue < look.lines.length; hue++) {
      g.strokeStyle = look.lines[hue];
      g.lineWidth = 2;
      g.beginPath();
      for (let k = hue; k < track.bodies; k += look.lines.length) {
        for (const shape of what.bodies[k].shapes) {
          const points = shape.kind === "sketch" ? shape.points : outline(shape);
          points.forEach((p, i) => g[i ? "lineTo" : "moveTo"](...to(track.place(k, p))));
        }
      }
      g.stroke();
      if (byRun(track)) break;
    }
  }

  // Lines of a system that says itself how it looks; a single point is a mass.
  polylines(track) {
    const { g, to } = this;
    (what.lines || []).forEach((line, n) => {
      const colour = byRun(track) ? trackColour(track) : look.lines[n % look.lines.length];
      const points = [];
      for (let c = line.first; c < line.first + line.count; c++) {
        const p = to([track.L[2 * c], track.L[2 * c + 1]]);
        if (Number.isFinite(p[0] + p[1])) points.push(p);
      }
      const edge = shade(colour, 0.12, look.ink);
      g.lineJoin = g.lineCap = "round";
      if (line.count > 1) this.bar(points, line.count > 40 ? 3 : 7, edge, this.fill(track, colour));
    });
    g.fillStyle = look.ground;
    g.strokeStyle = look.ink;
    g.lineWidth = 1.5;
    for (const line of what.lines || []) {
      if (line.count < 2 || line.count > 40) continue;
      for (let c = line.first; c < line.first + line.count; c++) {
        const p = to([track.L[2 * c], track.L[2 * c + 1]]);
        g.beginPath(); g.arc(p[0], p[1], 3.4, 0, 7); g.fill(); g.stroke();
      }
    }
    (what.lines || []).forEach((line, n) => {
      if (line.count > 1) return;
      const p = to([track.L[2 * line.first], track.L[2 * line.first + 1]]);
      const colour = byRun(track) ? trackColour(track) : look.lines[n % look.lines.length];
      g.fillStyle = colour; g.strokeStyle = shade(colour, 0.12, look.ink);
      g.beginPath(); g.arc(p[0], p[1], 8, 0, 7); g.fill(); g.stroke();
    });
  }

  // Where the ground holds the mechanism: pins, guides, pitch circles.
  supports(track) {
    const { g, to } = this;
    g.lineWidth = 1.2;
    for (const joint of what.joints) {
      g.strokeStyle = look.edge;
      const guide = this.guides.get(joint.name);
      if (guide) {
        const n = Math.hypot(...joint.axis), extra = 24 / this.k;
        const [a, b] = [guide[0] - extra, guide[1] + extra].map(s => to(track.place(joint.bodies[0], joint.at[0].map((x, d) => x + joint.axis[d] / n * s))));
        g.setLineDash(joint.bodies[0] < 0 ? [] : [5, 4]);
        g.beginPath(); g.moveTo(...a); g.lineTo(...b); g.stroke();
        g.setLineDash([]);
      }
      if (joint.radii.length && joint.kind !== "distance") {
        const ends = joint.kind === "gear" ? [[0, joint.radii[0]], [1, joint.radii[1]]] : [[1, joint.radii[0]]];
        g.setLineDash([3, 3]);
        for (const [e, radius] of ends) {
          if (radius === undefined) continue;
          const c = to(track.place(joint.bodies[e], joint.at[e]));
          g.beginPath(); g.arc(c[0], c[1], Math.abs(radius) * this.k, 0, 7); g.stroke();
        }
        g.setLineDash([]);
      }
      if (joint.bodies[0] >= 0 && joint.bodies[1] >= 0) continue;
      if (joint.kind === "revolute" && what.joints.length < 200) {
        const e = joint.bodies[0] < 0 ? 0 : 1, [x, y] = to(joint.at[e]);
        g.fillStyle = look.grid;
        g.beginPath(); g.moveTo(x, y); g.lineTo(x + 10, y + 16); g.lineTo(x - 10, y + 16); g.closePath(); g.fill(); g.stroke();
        g.beginPath(); g.moveTo(x - 15, y + 16); g.lineTo(x + 15, y + 16);
        for (let s = -12; s <= 14; s += 6) { g.moveTo(x + s, y + 16); g.lineTo(x + s - 5, y + 21); }
        g.stroke();
      }
    }
  }

  grid() {
    const { g } = this, step = nice(90 / this.k);
    g.strokeStyle = look.grid;
    g.lineWidth = 1;
    g.beginPath();
    for (const x of ticks(this.x - this.w / 2 / this.k, this.x + this.w / 2 / this.k, this.w / this.k / step)) {
      const px = Math.round(this.to([x, 0])[0]) + 0.5;
      g.moveTo(px, 0); g.lineTo(px, this.h);
    }
    for (const y of ticks(this.y - this.h / 2 / this.k, this.y + this.h / 2 / this.k, this.h / this.k / step)) {
      const py = Math.round(this.to([0, y])[1]) + 0.5;
      g.moveTo(0, py); g.lineTo(this.w, py);
    }
    g.stroke();
  }

  // A bar of a round length; returns it for the legend.
  scale() {
    const { g } = this, length = nice(110 / this.k), px = length * this.k, x = 12, y = this.h - 30;
    g.strokeStyle = look.edge;
    g.lineWidth = 1.5;
    g.beginPath();
    g.moveTo(x, y - 4); g.lineTo(x, y); g.lineTo(x + px, y); g.lineTo(x + px, y - 4);
    g.stroke();
    return `${text(length)} m`;
  }
}

function inShape(shape, p) {
  const c = Math.cos(shape.axes), s = Math.sin(shape.axes);
  return [shape.centre[0] + c * p[0] - s * p[1], shape.centre[1] + s * p[0] + c * p[1]];
}

// Corners of a shape in the frame of its body.
function outline(shape) {
  if (shape.corners2d) return shape.corners2d;
  let points;
  if (shape.kind === "rod") points = [[-shape.length / 2, 0], [shape.length / 2, 0]];
  else if (shape.kind === "box") { const [a, b] = shape.size; points = [[-a / 2, -b / 2], [a / 2, -b / 2], [a / 2, b / 2], [-a / 2, b / 2]]; }
  else if (shape.kind === "polygon") points = shape.corners;
  else if (shape.kind === "disk") points = [...Array(24).keys()].map(i => [shape.radius * Math.cos(i * Math.PI / 12), shape.radius * Math.sin(i * Math.PI / 12)]);
  else return (shape.corners2d = [...shape.points, [0, 0]]);
  return (shape.corners2d = points.map(p => inShape(shape, p)));
}

function hullOf(points) {
  const p = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = list => {
    const h = [];
    for (const q of list) { while (h.length > 1 && turn(h[h.length - 2], h[h.length - 1], q) <= 0) h.pop(); h.push(q); }
    return h.slice(0, -1);
  };
  const found = [...half(p), ...half(p.reverse())];
  return found.length ? found : points;
}

function box(xs, ys) {
  if (!xs.length) return null;
  const low = a => a.reduce((m, v) => Math.min(m, v), Infinity), high = a => a.reduce((m, v) => Math.max(m, v), -Infinity);
  const [a, b, c, d] = [low(xs), high(xs), low(ys), high(ys)];
  const least = Math.max(b - a, d - c, 1e-9) * 0.2;
  return { x: (a + b) / 2, y: (c + d) / 2, w: Math.max(b - a, least), h: Math.max(d - c, least) };
}

function join(boxes) {
  return box(boxes.flatMap(b => [b.x - b.w / 2, b.x + b.w / 2]), boxes.flatMap(b => [b.y - b.h / 2, b.y + b.h / 2]));
}
