// Signals over time, with a cursor at the time of the picture.

const panels = [];
const LEFT = 54, RIGHT = 10, TOP = 6, BOTTOM = 20;

class Panel {
  constructor(name) {
    this.box = document.createElement("div");
    this.box.className = "panel";
    this.box.innerHTML = '<header><select aria-label="Signal"></select><span class="unit"></span>' +
      '<button type="button" class="away" aria-label="Remove this panel" title="Remove">×</button></header>' +
      '<div class="keys"></div><div class="graph"><canvas role="img"></canvas></div>';
    [this.select, this.unit, this.away, this.keys, this.canvas] =
      ["select", ".unit", ".away", ".keys", "canvas"].map(s => this.box.querySelector(s));
    fillSignals(this.select);
    this.select.value = name;
    this.select.addEventListener("change", () => { this.choose(this.select.value); paint(); });
    this.away.addEventListener("click", () => { panels.splice(panels.indexOf(this), 1); this.box.remove(); resizePanels(); });
    const seekTo = event => {
      const area = this.canvas.getBoundingClientRect();
      const part = (event.clientX - area.left - LEFT) / (area.width - LEFT - RIGHT);
      seek(Math.min(1, Math.max(0, part)) * span);
    };
    this.canvas.addEventListener("pointerdown", event => { this.canvas.setPointerCapture(event.pointerId); pause(); seekTo(event); });
    this.canvas.addEventListener("pointermove", event => { if (event.buttons) seekTo(event); });
    document.getElementById("panels").append(this.box);
    this.still = document.createElement("canvas");
    panels.push(this);
    this.choose(name);
  }

  choose(name) {
    this.signal = signals.get(name);
    this.unit.textContent = this.signal.unit;
    this.stale = true;
    this.lines = [];
    for (const track of tracks) {
      if (!track.visible) continue;
      const found = this.signal.get(track);
      if (!found) continue;
      for (let line = 0; line < found.lines; line++) this.lines.push({ track, found, line });
    }
    this.legend();
    this.range();
  }

  // The same signal with new numbers.
  refresh() {
    for (const each of this.lines) each.found = this.signal.get(each.track);
    this.range();
    this.stale = true;
  }

  // Keys of the lines with their values at the cursor: a key per line; of several runs a key per kind of line.
  legend() {
    this.keys.replaceChildren();
    const kinds = this.signal.labels.length, most = 8;
    const keys = [];
    this.lines.forEach(each => {
      const { track, line } = each;
      each.colour = () => track.ghost ? clear(look.soft, 0.55) : several ? trackColour(track) : look.lines[line % look.lines.length];
      each.dash = several ? [[], [6, 3], [2, 2.5], [8, 3, 2, 3]][line % 4] : [];
      if (line >= most || track.ghost) return;
      const at = line;
      if (!keys[at]) {
        const key = document.createElement("span"), mark = document.createElement("i");
        mark.style.borderTopStyle = each.dash.length ? (each.dash[0] > 3 ? "dashed" : "dotted") : "solid";
        const label = this.signal.labels[line] || (kinds > 1 ? `[${line}]` : "");
        if (several && kinds === 1) mark.hidden = true;
        key.append(mark, label);
        each.mark = mark;
        keys[at] = key;
        this.keys.append(key);
      }
      each.value = document.createElement("b");
      keys[at].append(each.value);
    });
    if (kinds > most) this.keys.append(`and ${kinds - most} more`);
  }

  range() {
    let low = Infinity, high = -Infinity;
    for (const { found, line } of this.lines)
      for (let k = line; k < found.values.length; k += found.lines) {
        const v = found.values[k];
        if (Number.isFinite(v)) { if (v < low) low = v; if (v > high) high = v; }
      }
    this.empty = low > high;
    if (this.empty) { low = 0; high = 1; }
    if (this.signal.logarithmic) {
      this.low = Math.max(-17, Math.floor(Math.log10(Math.max(low, 1e-17))));
      this.high = Math.min(8, Math.max(this.low + 2, Math.ceil(Math.log10(Math.max(high, 1e-17)))));
    } else {
      const middle = (low + high) / 2, least = Math.max(Math.abs(middle) * 1e-6, 1e-300);
      const half = Math.max((high - low) / 2, least);
      this.low = middle - 1.08 * half;
      this.high = middle + 1.08 * half;
    }
    const name = this.signal.name;
    this.canvas.setAttribute("aria-label", this.empty ? `${name}: no finite values` :
      `${name} over time, from ${text(low)} to ${text(high)} ${this.signal.unit}`);
  }

  resize() { this.stale = true; }

  y(v) {
    const s = this.signal.logarithmic ? Math.log10(Math.max(v, 1e-17)) : v;
    return TOP + (this.h - TOP - BOTTOM) * (1 - (s - this.low) / (this.high - this.low));
  }

  x(tau) { return LEFT + (this.w - LEFT - RIGHT) * (span > 0 ? tau / span : 0); }

  // Axes and curves change only with the size and the look: they are painted once and copied.
  paintStill() {
    Object.assign(this, fitCanvas(this.canvas));
    this.still.width = this.canvas.width;
    this.still.height = this.canvas.height;
    const g = this.still.getContext("2d"), r = ratio();
    g.setTransform(r, 0, 0, r, 0, 0);
    g.clearRect(0, 0, this.w, this.h);
    g.font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
    g.fillStyle = look.soft;
    g.strokeStyle = look.grid;
    g.lineWidth = 1;
    g.textAlign = "right";
    g.textBaseline = "middle";
    const room = Math.min(8, Math.max(2, Math.floor((this.h - TOP - BOTTOM) / 32)));
    const marks = this.signal.logarithmic
      ? ticks(this.low, this.high, Math.min(room, this.high - this.low)).filter(Number.isInteger).map(k => [10 ** k, `1e${k}`.replace("-", "−")])
      : ticks(this.low, this.high, room).map(v => [v, tickText(v, this.low, this.high)]);
    for (const [v, name] of marks) {
      const y = Math.round(this.y(v)) + 0.5;
      g.beginPath(); g.moveTo(LEFT, y); g.lineTo(this.w - RIGHT, y); g.stroke();
      g.fillText(name, LEFT - 6, y);
    }
    g.textAlign = "center";
    g.textBaseline = "top";
    const count = Math.max(2, Math.floor((this.w - LEFT) / 80));
    for (const tau of ticks(0, span, count)) {
      const x = Math.round(this.x(tau)) + 0.5, last = x > this.w - RIGHT - 14;
      g.beginPath(); g.moveTo(x, TOP); g.lineTo(x, this.h - BOTTOM); g.stroke();
      g.textAlign = last ? "right" : "center";
      g.fillText(text(begin + forward * tau, 4) + (last || tau === 0 ? " s" : ""), last ? this.w - 2 : x, this.h - BOTTOM + 5);
    }
    g.strokeStyle = look.edge;
    g.strokeRect(LEFT + 0.5, TOP + 0.5, this.w - LEFT - RIGHT, this.h - TOP - BOTTOM);
    g.save();
    g.beginPath(); g.rect(LEFT, TOP, this.w - LEFT - RIGHT, this.h - TOP - BOTTOM); g.clip();
    for (const each of this.lines) this.curve(g, each);
    this.events(g);
    g.restore();
    if (this.empty) { g.fillStyle = look.soft; g.textAlign = "center"; g.fillText("no finite values", (LEFT + this.w) / 2, this.h / 2); }
    this.stale = false;
  }

  // Events: a thin line each, with its name where there is room; where there are very many, a mark at the edge.
  events(g) {
    const top = TOP + 3;
    g.setLineDash([3, 3]);
    g.lineWidth = 1;
    g.font = "10.5px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
    g.textAlign = "left";
    g.textBaseline = "top";
    for (const track of tracks) {
      if (!track.visible) continue;
      track.events.forEach(event => {
        g.strokeStyle = g.fillStyle = byRun(track) ? clear(trackColour(track), track.ghost ? 0.4 : 1) : look.soft;
        const short = event.tau.length > 40;
        let free = -1;
        for (const tau of event.tau) {
          const x = Math.round(this.x(tau)) + 0.5;
          g.beginPath(); g.moveTo(x, this.h - BOTTOM); g.lineTo(x, short ? this.h - BOTTOM - 8 : TOP); g.stroke();
          const wide = g.measureText(event.name).width + 10;
          if (!short && x > free && x + wide < this.w - RIGHT) { g.fillText(event.name, x + 3, top); free = x + wide + 30; }
        }
      });
    }
    g.setLineDash([]);
  }

  curve(g, each) {
    const { found, line } = each, steps = this.signal.logarithmic;
    g.strokeStyle = each.colour();
    if (each.mark) each.mark.style.borderTopColor = several ? look.soft : each.colour();
    if (each.value && several) each.value.style.color = each.colour();
    g.setLineDash(each.dash);
    g.lineWidth = 1.5;
    g.lineJoin = "round";
    g.beginPath();
    let pen = false, before = 0;
    for (let f = 0; f < found.tau.length; f++) {
      const v = found.values[f * found.lines + line];
      if (!Number.isFinite(v)) { pen = false; continue; }
      const x = this.x(found.tau[f]), y = this.y(v);
      if (pen && steps) g.lineTo(x, before);
      if (pen) g.lineTo(x, y); else g.moveTo(x, y);
      pen = true;
      before = y;
    }
    g.stroke();
    g.setLineDash([]);
  }

  draw(time) {
    if (this.stale) this.paintStill();
    const g = this.canvas.getContext("2d"), r = ratio();
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.still, 0, 0);
    g.setTransform(r, 0, 0, r, 0, 0);
    const x = this.x(time);
    g.strokeStyle = look.ink;
    g.lineWidth = 1;
    g.beginPath(); g.moveTo(x, TOP); g.lineTo(x, this.h - BOTTOM); g.stroke();
    for (const each of this.lines) {
      const past = time > each.found.tau[each.found.tau.length - 1] + 1e-9 * span;
      const v = valueAt(each.track, each.found, each.line, time, this.signal.logarithmic), y = this.y(v);
      if (each.value) each.value.textContent = past ? "ended" : this.signal.logarithmic && v < 1.01e-17 ? "0" : text(v);
      if (past || each.track.ghost || !Number.isFinite(y) || y < TOP || y > this.h - BOTTOM) continue;
      g.fillStyle = each.colour();
      g.beginPath(); g.arc(x, y, 3.2, 0, 7); g.fill();
    }
  }
}

function tickText(v, low, high) {
  const digits = Math.max(3, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (high - low))) + 2);
  return Math.abs(v) < 1e-9 * (high - low) ? "0" : text(v, Math.min(digits, 8));
}

function fillSignals(select, lines = false) {
  const groups = new Map();
  for (const s of signals.values()) {
    if (s.name === "time" && !lines) continue;
    if (!groups.has(s.group)) {
      const group = document.createElement("optgroup");
      group.label = s.group;
      groups.set(s.group, group);
    }
    if (!lines) groups.get(s.group).append(new Option(s.name, s.name));
    else s.labels.forEach((label, line) => groups.get(s.group).append(
      new Option(s.labels.length > 1 ? (label.startsWith("[") ? s.name + label : label.length > 2 || s.name.length < 3 ? label : `${s.name} ${label}`) : s.name, `${s.name}:${line}`)));
  }
  select.append(...groups.values());
}

const resizePanels = () => { panels.forEach(p => p.resize()); paint(); };
