// Mechanisms in space: WebGL for the bodies, the canvas above it for joints, traces, forces and names.

const VERTEX = `
attribute vec3 place; attribute vec3 normal;
uniform mat4 model; uniform mat4 camera;
varying vec3 n; varying vec3 p;
void main() { vec4 w = model * vec4(place, 1.0); p = w.xyz; n = mat3(model) * normal; gl_Position = camera * w; }`;
const FRAGMENT = `
precision mediump float;
uniform vec3 colour; uniform float alpha; uniform vec3 eye; uniform vec3 light; uniform vec3 up; uniform float lit;
varying vec3 n; varying vec3 p;
void main() {
  if (lit < 0.5) { gl_FragColor = vec4(colour, alpha); return; }
  vec3 m = normalize(n), v = normalize(eye - p);
  if (dot(m, v) < 0.0) m = -m;
  float sky = 0.5 + 0.5 * dot(m, up);
  float sun = max(dot(m, light), 0.0);
  float shine = pow(max(dot(reflect(-light, m), v), 0.0), 40.0) * 0.18;
  vec3 seen = colour * (0.5 + 0.24 * sky + 0.36 * sun) + shine;
  gl_FragColor = vec4(seen, alpha);
}`;

class Solid {
  constructor(canvas, ink) {
    this.canvas = canvas;
    this.ink = ink;
    this.g = ink.getContext("2d");
    const wanted = { antialias: !slowDrawing(), alpha: false, powerPreference: "high-performance" };
    this.gl = canvas.getContext("webgl", wanted) || canvas.getContext("experimental-webgl", wanted);
    if (!this.gl) this.flatten("This browser has no WebGL");
    this.quality = 1;
    this.shadows = what.bodies.length < 400;
    this.up = upOf(what.gravity);
    const side = Math.abs(this.up[0]) > 0.5 ? [0, 1, 0] : [1, 0, 0];
    this.e1 = unit(minus(side, times(dot(side, this.up), this.up)));
    this.e2 = cross(this.up, this.e1);
    this.to = p => this.project(p);
    this.measure();
    this.meshes = what.bodies.map(b => bodyMesh(b.shapes, this.size));
    this.following = [...this.meshes]; // those of a live page, whose shapes follow the sliders
    // a body that fills the picture would hide what it holds: it can be seen through
    this.veiled = what.bodies.map(b => what.bodies.length > 3 && b.shapes.some(s => s.kind === "box" && Math.hypot(...s.size) > 0.9 * this.reach));
    this.fixed = what.ground.length ? bodyMesh(what.ground, this.size) : null;
    this.rod = cylinderMesh(1, 1, 0, false, 16);
    this.ball = sphereMesh(1, 12);
    this.coil = springMesh();
    if (this.gl) this.begin();
    this.resize();
    this.fit();
  }

  // A context may be lost when it is made (too many on the page, a driver that fell over), or later.
  begin() {
    this.canvas.addEventListener("webglcontextlost", event => {
      event.preventDefault();
      this.flatten("The browser has taken WebGL away");
      paint();
    });
    try { this.prepare(); } catch (problem) { this.flatten(`WebGL does not work in this browser (${problem.message})`); }
  }

  // From now on on the plain canvas; what a lost context leaves behind is not looked at.
  flatten(why) {
    if (this.flat) return;
    this.flat = true;
    this.gl = null;
    this.canvas.style.display = "none";
    complain(`${why}: bodies are drawn flat, without shadows, and slower.`);
  }

  // Bounds over all frames of the best-behaved run, and the size of the mechanism where it starts.
  measure() {
    const boxes = tracks.map(track => {
      const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
      const put = p => { if (p.every(Number.isFinite)) p.forEach((x, d) => { low[d] = Math.min(low[d], x); high[d] = Math.max(high[d], x); }); };
      const back = track.now, stride = Math.max(1, Math.floor(track.frames / 120));
      let first = null;
      for (let f = 0; f < track.frames; f += stride) {
        track.now = { i: f, u: 0 };
        track.mix(track.poses, track.P); track.mix(track.lines, track.L); track.turn();
        what.bodies.forEach((b, k) => b.shapes.forEach(s => corners3(s).forEach(p => put(track.place(k, p)))));
        for (const part of [...what.joints, ...what.links]) part.at.forEach((at, e) => put(track.place(part.bodies[e], at)));
        for (let c = 0; c < track.corners; c++) put(Array.from(track.L.subarray(3 * c, 3 * c + 3)));
        what.ground.forEach(s => corners3(s).forEach(put));
        if (!first) first = Math.max(...high.map((h, d) => h - low[d]));
      }
      track.now = back;
      return { low, high, first, reach: Math.max(...high.map((h, d) => h - low[d])) };
    }).filter(b => b.reach > 0 && Number.isFinite(b.reach)).sort((a, b) => a.reach - b.reach);
    const kept = boxes.filter(b => b.reach < 2 * boxes[0].reach);
    if (!kept.length) kept.push({ low: [-0.5, -0.5, -0.5], high: [0.5, 0.5, 0.5], first: 1, reach: 1 });
    this.low = [0, 1, 2].map(d => Math.min(...kept.map(b => b.low[d])));
    this.high = [0, 1, 2].map(d => Math.max(...kept.map(b => b.high[d])));
    this.size = kept[0].first > 0 ? Math.min(kept[0].first, 4 * kept[0].reach) : kept[0].reach;
    this.reach = Math.max(0.5 * Math.hypot(...minus(this.high, this.low)), 1e-9);
    this.floor = Math.min(dot(this.low, this.up), dot(this.high, this.up)) - 0.02 * this.reach;
  }

  fit() {
    this.target = times(0.5, plus(this.low, this.high));
    this.yaw = -0.95;
    this.pitch = 0.36;
    this.distance = 2.7 * this.reach * Math.max(1, 1.25 * this.h / this.w);
    this.moved = false;
  }

  resize() {
    Object.assign(this, fitCanvas(this.ink));
    fitCanvas(this.canvas, this.quality);
  }

  // Too slow: no shadows, then fewer pixels. A machine without a graphics card paints each of them on its processor.
  relax() {
    if (!this.gl || this.quality <= 0.4) return;
    if (this.shadows) { this.shadows = false; return; }
    this.quality *= 0.75;
    this.resize();
  }

  orbit(dx, dy) {
    this.yaw -= dx * 0.008;
    this.pitch = Math.min(1.55, Math.max(-1.55, this.pitch + dy * 0.008));
  }

  pan(dx, dy) {
    const s = this.distance * 0.63 / this.h;
    this.target = plus(this.target, plus(times(-dx * s, this.right), times(dy * s, this.above)));
  }

  zoom(factor) { this.distance = Math.min(Math.max(this.distance / factor, 0.02 * this.reach), 60 * this.reach); }

  aim() {
    const c = Math.cos(this.pitch);
    const back = plus(plus(times(c * Math.cos(this.yaw), this.e1), times(c * Math.sin(this.yaw), this.e2)), times(Math.sin(this.pitch), this.up));
    this.eye = plus(this.target, times(this.distance, back));
    this.right = unit(cross(this.up, back));
    this.above = cross(back, this.right);
    const [x, y, z, e] = [this.right, this.above, back, this.eye];
    const f = 1 / Math.tan(0.305), near = this.distance * 0.01, far = this.distance * 4 + 8 * this.reach, aspect = this.w / this.h;
    const depth = (far + near) / (near - far), scale = 2 * far * near / (near - far);
    // columns of projection times view
    const row = (v, k) => [...v, -dot(v, e)].map(a => a * k);
    const r0 = row(x, f / aspect), r1 = row(y, f), r3 = row(z, -1), r2 = row(z, depth);
    r2[3] += scale;
    this.camera = new Float32Array(16);
    [r0, r1, r2, r3].forEach((r, i) => r.forEach((v, j) => { this.camera[4 * j + i] = v; }));
  }

  project(p) {
    const m = this.camera, at = i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i], w = at(3);
    if (!(w > 0)) return [NaN, NaN];
    return [(at(0) / w + 1) / 2 * this.w, (1 - at(1) / w) / 2 * this.h, w];
  }

  prepare() {
    const { gl } = this, program = gl.createProgram();
    if (gl.isContextLost()) throw new Error("its context was lost at once");
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) || "WebGL");
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place");
    gl.bindAttribLocation(program, 1, "normal");
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = Object.fromEntries(["model", "camera", "colour", "alpha", "eye", "light", "up", "lit"].map(n => [n, gl.getUniformLocation(program, n)]));
    gl.enableVertexAttribArray(0);
    gl.enableVertexAttribArray(1);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    const load = this.load = numbers => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STATIC_DRAW);
      return { buffer, count: numbers.length / 6 };
    };
    for (const mesh of [...this.meshes, this.fixed, this.rod, this.ball, this.coil]) if (mesh) mesh.loaded = load(mesh.numbers);
    this.lines = load(this.gridLines());
  }

  gridLines() {
    const step = nice(this.reach / 3), n = Math.ceil(1.8 * this.reach / step), numbers = [];
    const c = times(0.5, plus(this.low, this.high)), a = Math.round(dot(c, this.e1) / step) * step, b = Math.round(dot(c, this.e2) / step) * step;
    const put = (u, v) => numbers.push(...plus(plus(times(u, this.e1), times(v, this.e2)), times(this.floor, this.up)), ...this.up);
    for (let k = -n; k <= n; k++) {
      put(a + k * step, b - n * step); put(a + k * step, b + n * step);
      put(a - n * step, b + k * step); put(a + n * step, b + k * step);
    }
    this.square = step;
    return numbers;
  }

  // Shapes of a live page anew, where sliders have moved what they hold.
  renew() {
    for (const k of new Set(live.moves.filter(({ path }) => path[0] === "bodies").map(({ path }) => path[1]))) {
      if (this.gl && this.following[k] !== this.meshes[k]) this.gl.deleteBuffer(this.following[k].loaded.buffer);
      this.following[k] = bodyMesh(what.bodies[k].shapes, this.size);
      if (this.gl) this.following[k].loaded = this.load(this.following[k].numbers);
    }
  }

  // Everything that moves, as (mesh, matrix by columns, colour, alpha).
  things() {
    const found = [];
    for (const track of tracks) {
      if (!track.visible) continue;
      const alpha = trackAlpha(track);
      what.bodies.forEach((b, k) => {
        const o = 9 * k, p = 7 * k, { P, R } = track;
        if (!Number.isFinite(P[p] + P[p + 1] + P[p + 2] + R[o])) return;
        found.push([(track.ghost ? this.meshes : this.following)[k], [R[o], R[o + 3], R[o + 6], 0, R[o + 1], R[o + 4], R[o + 7], 0, R[o + 2], R[o + 5], R[o + 8], 0, P[p], P[p + 1], P[p + 2], 1], bodyColour(track, k), alpha * (this.veiled[k] ? 0.3 : 1)]);
      });
      const thick = 0.008 * this.size, steel = byRun(track) ? shade(trackColour(track), 0.25, look.ink) : look.edge;
      for (const link of drawnOf(track).links) {
        const [a, b] = link.at.map((at, e) => track.place(link.bodies[e], at));
        if (link.kind === "spring") found.push([this.coil, stretch(a, b, 3 * thick, a), steel, alpha]);
        else found.push([this.rod, stretch(a, b, link.kind === "damper" ? 1.8 * thick : thick), steel, alpha]);
      }
      (what.lines || []).forEach((line, n) => {
        const colour = byRun(track) ? trackColour(track) : look.lines[n % look.lines.length];
        const at = c => Array.from(track.L.subarray(3 * c, 3 * c + 3)), last = line.first + line.count;
        for (let c = line.first; c + 1 < last; c++) found.push([this.rod, stretch(at(c), at(c + 1), thick), colour, alpha]);
        const r = line.count === 1 ? 0.035 * this.size : 1.5 * thick;
        for (let c = line.first; c < last; c++) found.push([this.ball, [r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, ...at(c), 1], colour, alpha]);
      });
    }
    if (this.fixed) found.unshift([this.fixed, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], look.edge, 1]);
    return found.filter(([, m]) => m.every(Number.isFinite)).sort((a, b) => b[3] - a[3]); // what can be seen through comes last
  }

  draw(show) {
    const { g } = this, r = ratio();
    this.aim();
    (this.gl ? this.paintGl : this.paintFlat).call(this, show, this.things());
    g.setTransform(r, 0, 0, r, 0, 0);
    if (this.gl) g.clearRect(0, 0, this.w, this.h);
    if (show.traces.size) drawTraces(g, this.to, show.traces);
    for (const track of tracks) {
      if (!track.visible) continue;
      g.globalAlpha = trackAlpha(track);
      what = drawnOf(track);
      if (show.joints) { this.axes(track); drawJoints(g, this.to, track); }
      drawPoints(g, this.to, track);
      if (show.forces) drawForces(g, this.to, track, 1.1 * this.reach);
      if (show.names) drawNames(g, this.to, track);
    }
    what = meta.what;
    g.globalAlpha = 1;
    return show.grid ? `squares of ${text(this.square || nice(this.reach / 3))} m` : "";
  }

  // Axes of hinges and slides as short lines.
  axes(track) {
    const { g } = this, half = 0.06 * this.size;
    g.strokeStyle = byRun(track) ? shade(trackColour(track), 0.35, look.ink) : look.ink;
    g.lineWidth = 1.4;
    g.beginPath();
    for (const joint of what.joints) {
      if (!joint.axis || !["revolute", "prismatic", "cylindrical"].includes(joint.kind)) continue;
      const d = times(half * (joint.kind === "revolute" ? 1 : 2.4), unit(track.direct(joint.bodies[0], joint.axis)));
      const p = track.place(joint.bodies[1], joint.at[1]), a = this.to(minus(p, d)), b = this.to(plus(p, d));
      if (Number.isFinite(a[0] + b[0])) { g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); }
    }
    g.stroke();
  }

  // Where the light comes from: above, right, and the eye.
  light() {
    return unit(plus(plus(times(0.8, this.up), times(0.55, this.right)), times(0.45, unit(minus(this.eye, this.target)))));
  }

  paint(colour) { return shade(colour, look.name === "dark" ? 0.05 : 0.22, "#ffffff"); }

  paintGl(show, things) {
    const { gl, at } = this, [r, gr, b] = rgb(look.ground);
    gl.depthMask(true);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(r, gr, b, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniformMatrix4fv(at.camera, false, this.camera);
    gl.uniform3fv(at.eye, this.eye);
    gl.uniform3fv(at.light, this.light());
    gl.uniform3fv(at.up, this.up);
    const use = loaded => {
      gl.bindBuffer(gl.ARRAY_BUFFER, loaded.buffer);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 24, 0);
      gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 24, 12);
    };
    if (show.grid) {
      gl.uniform1f(at.lit, 0);
      gl.uniform1f(at.alpha, 1);
      gl.uniform3fv(at.colour, rgb(look.grid));
      gl.uniformMatrix4fv(at.model, false, new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]));
      use(this.lines);
      gl.drawArrays(gl.LINES, 0, this.lines.count);
      // shadows: everything flattened onto the floor along the vertical, in one plain colour
      if (this.shadows) {
        const u = this.up, F = [0, 1, 2].map(j => [0, 1, 2].map(i => (i === j ? 1 : 0) - u[i] * u[j]).concat(0)).flat()
          .concat(times(this.floor + 0.001 * this.reach, u), 1);
        gl.uniform3fv(at.colour, rgb(shade(look.ground, look.name === "dark" ? 0.06 : 0.09, look.ink)));
        for (const [mesh, m] of things) {
          gl.uniformMatrix4fv(at.model, false, product(F, m));
          use(mesh.loaded);
          gl.drawArrays(gl.TRIANGLES, 0, mesh.loaded.count);
        }
      }
    }
    gl.uniform1f(at.lit, 1);
    for (const [mesh, m, colour, alpha] of things) {
      gl.uniform3fv(at.colour, rgb(this.paint(colour)));
      gl.uniform1f(at.alpha, alpha);
      gl.depthMask(alpha > 0.4);
      gl.uniformMatrix4fv(at.model, false, new Float32Array(m));
      use(mesh.loaded);
      gl.drawArrays(gl.TRIANGLES, 0, mesh.loaded.count);
    }
  }

  // Without WebGL: all triangles from far to near on the canvas, lit as the shader does it.
  paintFlat(show, things) {
    const { g } = this, r = ratio(), list = [], light = this.light();
    g.setTransform(r, 0, 0, r, 0, 0);
    g.clearRect(0, 0, this.w, this.h);
    if (show.grid) {
      const n = this.gridLines();
      g.strokeStyle = look.grid;
      g.lineWidth = 1;
      g.beginPath();
      for (let k = 0; k < n.length; k += 12) {
        const a = this.to(n.slice(k, k + 3)), b = this.to(n.slice(k + 6, k + 9));
        if (Number.isFinite(a[0] + b[0])) { g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); }
      }
      g.stroke();
    }
    for (const [mesh, m, colour, alpha] of things) {
      const n = mesh.numbers, world = k => [0, 1, 2].map(i => m[i] * n[k] + m[4 + i] * n[k + 1] + m[8 + i] * n[k + 2] + m[12 + i]);
      for (let k = 0; k < n.length; k += 18) {
        const p = [world(k), world(k + 6), world(k + 12)], q = p.map(this.to);
        let normal = normalOf(...p);
        if (dot(normal, normal) < 0.5 || q.some(c => !Number.isFinite(c[0]))) continue; // no area, or behind the eye
        if (dot(normal, minus(this.eye, p[0])) < 0) normal = times(-1, normal);
        const bright = 0.62 + 0.12 * dot(normal, this.up) + 0.36 * Math.max(0, dot(normal, light));
        list.push([q[0][2] + q[1][2] + q[2][2], q, shade("#000000", Math.min(1, bright), this.paint(colour)), alpha]);
      }
    }
    list.sort((a, b) => b[0] - a[0]);
    for (const [, q, colour, alpha] of list) {
      g.globalAlpha = alpha;
      g.fillStyle = g.strokeStyle = colour;
      g.lineWidth = 0.6;
      g.beginPath();
      q.forEach((c, i) => g[i ? "lineTo" : "moveTo"](c[0], c[1]));
      g.closePath(); g.fill(); g.stroke();
    }
    g.globalAlpha = 1;
  }
}

// Whether WebGL is drawn by the processor, for which smooth edges are too much.
function slowDrawing() {
  const probe = document.createElement("canvas").getContext("webgl");
  const said = probe && probe.getExtension("WEBGL_debug_renderer_info");
  const name = said ? String(probe.getParameter(said.UNMASKED_RENDERER_WEBGL)) : "";
  if (probe && probe.getExtension("WEBGL_lose_context")) probe.getExtension("WEBGL_lose_context").loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

// Against gravity, along the nearest axis; z where there is none.
function upOf(gravity) {
  if (!gravity || !(Math.hypot(...gravity) > 0)) return [0, 0, 1];
  const d = gravity.map(Math.abs).indexOf(Math.max(...gravity.map(Math.abs))), up = [0, 0, 0];
  up[d] = gravity[d] > 0 ? -1 : 1;
  return up;
}

// Matrix that lays a mesh of length 1 along x between two points; centred, or from a given origin.
function stretch(a, b, radius, origin = null) {
  const d = minus(b, a), l = Math.hypot(...d), A = along(d), o = origin || times(0.5, plus(a, b));
  return [A[0][0] * l, A[1][0] * l, A[2][0] * l, 0, A[0][1] * radius, A[1][1] * radius, A[2][1] * radius, 0,
    A[0][2] * radius, A[1][2] * radius, A[2][2] * radius, 0, ...o, 1];
}

function product(a, b) { // by columns
  const out = new Float32Array(16);
  for (let j = 0; j < 4; j++) for (let i = 0; i < 4; i++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) sum += a[4 * k + i] * b[4 * j + k];
    out[4 * j + i] = sum;
  }
  return out;
}

// Points that bound a shape, in the frame of its body.
function corners3(s) {
  if (s.bounds) return s.bounds;
  let half = [0, 0, 0];
  if (s.kind === "box") half = s.size.map(x => x / 2);
  else if (s.kind === "rod") half = [s.length / 2, s.width / 2, s.width / 2];
  else if (s.kind === "cylinder") half = [s.length / 2, s.radius, s.radius];
  else if (s.kind === "sphere") half = [s.radius, s.radius, s.radius];
  else if (s.kind === "disk") half = [0, s.radius, s.radius];
  else if (s.kind === "sketch") return (s.bounds = [...s.points, [0, 0, 0]]);
  const put = p => s.centre.map((c, i) => c + s.axes[i][0] * p[0] + s.axes[i][1] * p[1] + s.axes[i][2] * p[2]);
  if (s.kind === "mesh") return (s.bounds = s.triangles.filter((_, k) => k % Math.ceil(s.triangles.length / 60) === 0).map(t => put(t.slice(0, 3))));
  s.bounds = [];
  for (const a of [-1, 1]) for (const b of [-1, 1]) for (const c of [-1, 1]) s.bounds.push(put([a * half[0], b * half[1], c * half[2]]));
  return s.bounds;
}
