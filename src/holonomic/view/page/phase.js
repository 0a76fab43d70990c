// A run without a picture: one quantity over another, and a point that moves along.

class Phase {
  constructor(canvas, tools) {
    this.canvas = canvas;
    this.g = canvas.getContext("2d");
    const make = (value, label) => {
      const select = document.createElement("select");
      select.setAttribute("aria-label", label);
      fillSignals(select, true);
      select.value = value;
      select.addEventListener("change", () => { this.fit(); paint(); });
      return select;
    };
    this.across = make(meta.phase[0], "Quantity across");
    this.up = make(meta.phase[1], "Quantity up");
    const over = document.createElement("span");
    over.textContent = "over";
    over.style.cssText = "align-self:center;font-size:12.5px;color:var(--soft)";
    tools.prepend(this.up, over, this.across);
    this.resize();
    this.fit();
  }

  resize() { Object.assign(this, fitCanvas(this.canvas)); if (!this.moved) this.fit(); }

  pick(select) {
    const at = select.value.lastIndexOf(":"), signal = signals.get(select.value.slice(0, at));
    return { signal, line: Number(select.value.slice(at + 1)), name: select.selectedOptions[0] ? select.selectedOptions[0].textContent : "" };
  }

  // The curves with new numbers, from where they are looked at.
  renew() {
    const a = this.pick(this.across), b = this.pick(this.up);
    this.named = [a, b];
    this.curves = tracks.map(track => {
      const [fa, fb] = [a.signal.get(track), b.signal.get(track)];
      if (!fa || !fb || fa.tau.length !== fb.tau.length) return null;
      const n = fa.tau.length, x = new Float64Array(n), y = new Float64Array(n);
      for (let f = 0; f < n; f++) { x[f] = fa.values[f * fa.lines + a.line]; y[f] = fb.values[f * fb.lines + b.line]; }
      return { track, x, y, fa, fb };
    });
  }

  fit() {
    this.renew();
    const [a, b] = this.named;
    // runs that fly apart do not count beside one that does not
    const range = values => {
      let low = Infinity, high = -Infinity;
      for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
      return [low, high];
    };
    const spans = this.curves.filter(Boolean).map(c => [range(c.x), range(c.y)]).filter(s => s.flat().every(Number.isFinite));
    const join1 = d => {
      const sizes = spans.map(s => s[d][1] - s[d][0]), least = Math.min(...sizes.filter(w => w > 0));
      const kept = spans.filter((s, k) => !(sizes[k] > 2.5 * least));
      const [low, high] = [Math.min(...kept.map(s => s[d][0])), Math.max(...kept.map(s => s[d][1]))];
      return Number.isFinite(low) ? [(low + high) / 2, Math.max(high - low, 1e-9 * Math.abs(high + low), 1e-300)] : [0, 1];
    };
    const [[x, w], [y, h]] = [join1(0), join1(1)];
    this.x = x; this.y = y;
    this.kx = (this.w - 150) / w;
    this.ky = (this.h - 110) / h;
    // one coordinate over another is a path: true proportions, unless nothing would be seen of one of them
    const path = a.signal === b.signal && ["q", "y", "x"].includes(a.signal.name), part = w / h;
    if (path && part < 8 && part > 1 / 8) this.kx = this.ky = Math.min(this.kx, this.ky);
    this.moved = false;
  }

  to(x, y) { return [(x - this.x) * this.kx + this.w / 2 + 28, this.h / 2 - 6 - (y - this.y) * this.ky]; }

  pan(dx, dy) { this.x -= dx / this.kx; this.y += dy / this.ky; this.moved = true; }

  zoom(factor, px, py) {
    const dx = (px - this.w / 2 - 28), dy = (py - this.h / 2 + 6);
    this.x += dx / this.kx * (1 - 1 / factor);
    this.y -= dy / this.ky * (1 - 1 / factor);
    this.kx *= factor;
    this.ky *= factor;
    this.moved = true;
  }

  draw(show, time) {
    const { g } = this, r = ratio();
    g.setTransform(r, 0, 0, r, 0, 0);
    g.clearRect(0, 0, this.w, this.h);
    this.axes();
    for (const curve of this.curves) {
      if (!curve || !curve.track.visible) continue;
      const colour = trackColour(curve.track);
      g.globalAlpha = curve.track.ghost ? 0.5 : 1;
      g.lineJoin = "round";
      this.stroke(curve, curve.x.length, clear(colour, 0.25), 1.1);
      const { i } = curve.track.find(time, curve.fa.tau);
      this.stroke(curve, i + 1, clear(colour, 0.95), 1.8);
      const now = [curve.fa, curve.fb].map((f, k) => valueAt(curve.track, f, this.named[k].line, time));
      const p = this.to(...now);
      if (!Number.isFinite(p[0] + p[1])) continue;
      g.fillStyle = colour;
      g.strokeStyle = look.ground;
      g.lineWidth = 2;
      g.beginPath(); g.arc(p[0], p[1], 7, 0, 7); g.fill(); g.stroke();
      curve.track.point = now;
    }
    g.globalAlpha = 1;
    return "";
  }

  stroke(curve, last, colour, wide) {
    const { g } = this;
    g.strokeStyle = colour;
    g.lineWidth = wide;
    g.beginPath();
    let pen = false;
    for (let f = 0; f < last; f++) {
      const p = this.to(curve.x[f], curve.y[f]);
      if (!Number.isFinite(p[0] + p[1])) pen = false;
      else if (pen) g.lineTo(p[0], p[1]);
      else { g.moveTo(p[0], p[1]); pen = true; }
    }
    g.stroke();
  }

  axes() {
    const { g } = this, left = 76, bottom = this.h - 40;
    g.font = FONT;
    g.lineWidth = 1;
    g.strokeStyle = look.grid;
    g.fillStyle = look.soft;
    const x0 = this.x - (this.w / 2 + 28 - left) / this.kx, x1 = this.x + (this.w / 2 - 28) / this.kx;
    const y0 = this.y - (bottom - this.h / 2 + 6) / this.ky, y1 = this.y + (this.h / 2 - 6) / this.ky;
    g.textAlign = "center"; g.textBaseline = "top";
    for (const v of ticks(x0, x1, this.w / 110)) {
      const [px] = this.to(v, 0), x = Math.round(px) + 0.5;
      if (x > this.w - 14) continue;
      g.beginPath(); g.moveTo(x, 0); g.lineTo(x, bottom); g.stroke();
      g.fillText(tickText(v, x0, x1), x, bottom + 5);
    }
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const v of ticks(y0, y1, this.h / 80)) {
      const y = Math.round(this.to(0, v)[1]) + 0.5;
      if (y > bottom || y < 8) continue;
      g.beginPath(); g.moveTo(left, y); g.lineTo(this.w, y); g.stroke();
      g.fillText(tickText(v, y0, y1), left - 6, y);
    }
    g.fillStyle = look.ink;
    g.textAlign = "center"; g.textBaseline = "bottom";
    g.fillText(`${this.named[0].name}  (${this.named[0].signal.unit})`, (left + this.w) / 2, this.h - 6);
    g.save();
    g.translate(13, bottom / 2);
    g.rotate(-Math.PI / 2);
    g.fillText(`${this.named[1].name}  (${this.named[1].signal.unit})`, 0, 3);
    g.restore();
  }
}
