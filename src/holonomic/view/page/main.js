// The page: time, controls, keyboard.

const $ = id => document.getElementById(id);
const show = {
  joints: true, forces: Boolean(meta.forces), names: false, grid: true, traces: new Set(meta.traces.filter(n => traceable.has(n))),
};
let moved = null; // sliders and runs of a live page
let time = 0, playing = false, speed = 1, last = null, painter = null, asked = false, fps = 0, frames = 0;
const slow = { seen: 0 };

function complain(message) {
  const line = document.createElement("p");
  line.textContent = message;
  $("banner").append(line);
  $("banner").hidden = false;
}

function seek(to) {
  time = Math.min(span, Math.max(0, to));
  paint();
}

// Paint once with the next frame of the browser, however often it was asked for.
function paint() {
  if (asked || playing) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

function draw() {
  for (const track of tracks) track.seek(time);
  const scale = painter.draw(show, time);
  for (const panel of panels) panel.draw(time);
  $("scrub").value = time;
  const t = begin + forward * time, clock = `t = ${clockText(t)} s`;
  $("clock").textContent = clock;
  if (!playing) {
    $("scrub").setAttribute("aria-valuetext", clock);
    $("ink").setAttribute("aria-label", `${document.title} at ${clock}`);
  }
  const said = [scale];
  if (show.forces && what && forceScale() > 0) said.push(`longest arrows: ${text(forceScale())} N`);
  const apart = tracks.filter(track => track.visible && track.apart && !track.ghost).map(track => several ? track.name : "");
  if (apart.length) said.push(several ? `come apart: ${apart.join(", ")}` : "joints have come apart");
  const line = said.filter(Boolean).join("   ·   ");
  if ($("legend").textContent !== line) $("legend").textContent = line;
  frames++;
}

const clockDigits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(span || 1))));
const clockText = t => t.toFixed(clockDigits).replace("-", "−");

function tick(now) {
  if (!playing) return;
  if (last !== null) {
    const passed = (now - last) / 1000;
    if (++slow.seen % 20 === 0) { if (fps < 32 && painter.relax) painter.relax(); }
    fps = fps ? fps + 0.1 * (1 / Math.max(passed, 1e-3) - fps) : 1 / Math.max(passed, 1e-3);
    time += Math.min(passed, 0.1) * speed;
    if (time >= span) time = span > 0 ? time % span : 0;
  }
  last = now;
  draw();
  requestAnimationFrame(tick);
}

function play() {
  if (playing || span === 0) return;
  if (time >= span) time = 0;
  playing = true;
  last = null;
  buttons();
  requestAnimationFrame(tick);
}

function pause() {
  if (!playing) return;
  playing = false;
  buttons();
  paint();
}

function buttons() {
  $("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  $("play").querySelector("path").setAttribute("d", playing ? "M5 4h3.4v12H5zM11.6 4H15v12h-3.4z" : "M6.5 3.6v12.8L16.5 10z");
}

function speeds() {
  // real time where the run takes some seconds; else a round factor that makes it take about eight
  const base = span >= 2 && span <= 30 ? 1 : nice(span / 8 * 1.3) || 1;
  const found = [0.1, 0.25, 0.5, 1, 2, 4, 10].map(f => Number((f * base).toPrecision(3)));
  if (!found.includes(1) && base > 0.05 && base < 20) { found.push(1); found.sort((a, b) => a - b); }
  for (const s of found) $("speed").append(new Option(`${text(s)}×`, s));
  speed = base;
  $("speed").value = String(base);
}

function setSpeed(step) {
  const select = $("speed"), next = select.selectedIndex + step;
  if (next >= 0 && next < select.options.length) { select.selectedIndex = next; speed = Number(select.value); }
}

function theme(name) {
  applyTheme(name);
  if (painter && painter.restyle) painter.restyle();
  for (const chip of $("runs").children) chip.firstChild.style.background = look.lines[chip.dataset.run % look.lines.length];
  resizePanels();
}

// Switches of the picture, and what leaves a trace.
function tools() {
  const box = $("tools");
  if (what) {
    const menu = document.createElement("details"), list = document.createElement("div");
    menu.className = "menu";
    menu.innerHTML = "<summary>Show</summary>";
    const check = (label, on, change) => {
      const row = document.createElement("label"), input = document.createElement("input");
      input.type = "checkbox";
      input.checked = on;
      input.addEventListener("change", () => { change(input.checked); paint(); });
      row.append(input, label);
      list.append(row);
      return input;
    };
    if (what.joints.length) check("joints", show.joints, on => { show.joints = on; });
    if (meta.forceful.length) check("forces at joints", show.forces, on => { show.forces = on; });
    check("names", show.names, on => { show.names = on; });
    check(dimension === 2 ? "grid" : "floor", show.grid, on => { show.grid = on; });
    if (traceable.size) {
      const head = document.createElement("h2");
      head.textContent = "traces of";
      list.append(head);
      [...traceable.keys()].slice(0, 200).forEach(name => check(name, show.traces.has(name), on => show.traces[on ? "add" : "delete"](name)));
    }
    menu.append(list);
    document.addEventListener("pointerdown", event => { if (!menu.contains(event.target)) menu.open = false; });
    menu.addEventListener("keydown", event => { if (event.key === "Escape") { menu.open = false; menu.firstChild.focus(); } });
    box.append(menu);
  }
  const fit = document.createElement("button");
  fit.type = "button";
  fit.textContent = "Fit";
  fit.title = "Show everything (F)";
  fit.addEventListener("click", () => { painter.fit(); paint(); });
  box.append(fit);
}

function runs() {
  $("heading").textContent = several ? `${tracks.filter(track => !track.ghost).length} runs of the same system, one over the other` : meta.tracks[0].heading;
  if (several) for (const track of tracks.filter(track => !track.ghost)) {
    const chip = document.createElement("button"), mark = document.createElement("i");
    chip.type = "button";
    chip.dataset.run = track.index;
    chip.setAttribute("aria-pressed", "true");
    chip.title = "Show or hide";
    mark.style.background = trackColour(track);
    chip.append(mark, track.name);
    chip.addEventListener("click", () => {
      track.visible = !track.visible;
      chip.setAttribute("aria-pressed", track.visible);
      panels.forEach(p => p.choose(p.signal.name));
      paint();
    });
    $("runs").append(chip);
  }
  for (const track of meta.tracks)
    if (track.failure) complain(`${several ? track.name + ": stopped" : "Stopped"} at t = ${text(track.stopped, 6)} s${track.wanted === null ? "" : ` of ${text(track.wanted, 6)} s`}. ${track.failure}`);
  for (const note of meta.notes) complain(note);
}

function firstPanels() {
  const wanted = [...meta.shown, "drift", "energy"];
  if (!what) wanted.unshift(...["q", "y", "x"].filter(n => signals.has(n)));
  const named = group => [...signals.values()].filter(s => s.group === group).map(s => s.name);
  wanted.push(...named("Joint forces").slice(0, 1), ...named("Outputs"), ...["q", "y", "x"], ...signals.keys());
  const chosen = [...new Set(wanted)].filter(n => signals.has(n) && n !== "time").slice(0, Math.max(3, meta.shown.length));
  chosen.forEach(name => new Panel(name));
  if (!chosen.length) { $("side").hidden = true; document.querySelector("main").style.gridTemplateColumns = "minmax(0, 1fr)"; }
  $("add").addEventListener("click", () => {
    const free = [...signals.keys()].find(n => n !== "time" && !panels.some(p => p.signal.name === n)) || signals.keys().next().value;
    const panel = new Panel(free);
    resizePanels();
    panel.box.scrollIntoView({ block: "nearest" });
    panel.select.focus();
  });
}

// Drag to move (in space: to turn; with shift or the right button to move), wheel and two fingers to zoom.
function pointers(canvas) {
  const down = new Map();
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, event);
  });
  canvas.addEventListener("pointermove", event => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    if (down.size === 1) {
      if (painter.orbit && !event.shiftKey && !(event.buttons & 2)) painter.orbit(dx, dy);
      else painter.pan(dx, dy);
    } else if (down.size === 2) {
      const [a, b] = [...down.values()], other = a.pointerId === event.pointerId ? b : a;
      const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
      const is = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
      const area = canvas.getBoundingClientRect();
      painter.zoom(is / Math.max(was, 1), (event.clientX + other.clientX) / 2 - area.left, (event.clientY + other.clientY) / 2 - area.top);
      painter.pan(dx / 2, dy / 2);
    }
    down.set(event.pointerId, event);
    paint();
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, event => down.delete(event.pointerId));
  canvas.addEventListener("wheel", event => {
    if (window.top !== window && !document.hasFocus()) return; // inside another page: scroll that, until one clicks here
    event.preventDefault();
    painter.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.03 : 0.0014)), event.offsetX, event.offsetY);
    paint();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => { painter.fit(); paint(); });
  canvas.addEventListener("contextmenu", event => event.preventDefault());
}

function keyboard() {
  const frame = () => span / Math.max(1, ...tracks.map(track => track.frames - 1));
  document.addEventListener("keydown", event => {
    const tag = event.target.tagName;
    if (event.target.closest("#live")) return; // sliders have their own keys
    if (event.ctrlKey || event.metaKey || event.altKey || tag === "SELECT" || (tag === "INPUT" && event.target.type === "checkbox")) return;
    if (event.key === " " && tag === "SUMMARY") return;
    const many = event.shiftKey ? 10 : 1;
    const act = {
      " ": () => playing ? pause() : play(),
      ArrowRight: () => { pause(); seek((Math.round(time / frame()) + many) * frame()); },
      ArrowLeft: () => { pause(); seek((Math.round(time / frame()) - many) * frame()); },
      ArrowUp: () => setSpeed(1), ArrowDown: () => setSpeed(-1),
      Home: () => seek(0), End: () => { pause(); seek(span); },
      f: () => { painter.fit(); paint(); }, t: () => theme(look.name === "dark" ? "light" : "dark"),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
}

function start() {
  theme();
  dark.addEventListener("change", () => meta.theme === "auto" && theme());
  runs();
  tools();
  firstPanels();
  const ink = $("ink");
  painter = dimension === 2 ? new Flat(ink) : dimension === 3 ? new Solid($("solid"), ink) : meta.phase ? new Phase(ink, $("tools")) : new Blank();
  if (dimension !== 3) $("solid").remove();
  pointers(ink);
  keyboard();
  speeds();
  $("scrub").max = span;
  $("scrub").addEventListener("input", event => { pause(); seek(Number(event.target.value)); });
  $("speed").addEventListener("change", event => { speed = Number(event.target.value); });
  $("play").addEventListener("click", () => playing ? pause() : play());
  $("theme").addEventListener("click", () => theme(look.name === "dark" ? "light" : "dark"));
  new ResizeObserver(() => { painter.resize(); resizePanels(); if (playing) return; paint(); }).observe($("stage"));
  new ResizeObserver(resizePanels).observe($("panels"));
  buttons();
  if (span === 0) $("scrub").disabled = $("play").disabled = true;
  if (meta.live) moved = new Live();
  draw();
  if (meta.play && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
}

class Blank {
  draw() { return "nothing to draw but the curves"; }
  fit() {} resize() {} pan() {} zoom() {}
}

// For tests and for other scripts on the page.
window.holonomic = {
  // where a point, body or joint is drawn now, in metres
  where: (name, run = 0) => { const it = traceable.get(name); return Array.from(tracks[run].place(it.body, it.at)); },
  play, pause, seek: t => seek(forward * (t - begin)), draw, tracks, signals, show, panels,
  get painter() { return painter; },
  get time() { return begin + forward * time; },
  get playing() { return playing; },
  get fps() { return fps; },
  get frames() { return frames; },
  get live() { return moved; },
  get dark() { return look.name === "dark"; },
};

window.addEventListener("error", event => complain(`The page met an error: ${event.message}`));
try { start(); } catch (problem) { complain(`The page could not be drawn: ${problem.message}`); throw problem; }
