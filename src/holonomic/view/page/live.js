// A live page: sliders, and runs that follow them.

const live = meta.live;
const LONG = 30; // ms: a run that takes longer goes to a worker, so that the hand is not held up

class Live {
  constructor() {
    this.ghost = tracks.find(track => track.ghost);
    this.tracks = tracks.filter(track => !track.ghost); // one that is moved, or one for each of several methods side by side
    this.ghost.what = structuredClone(meta.what); // shapes of the other one follow the sliders
    this.program = 0;
    this.asked = this.shown = 0; // numbers of runs
    this.spent = 0;
    this.waiting = this.running = false;
    const arrays = given => Object.fromEntries(Object.entries(given).map(([name, v]) => [name, v && v.shape ? numbers(v) : v]));
    this.numbers = live.programs.map(program => arrays(program.numbers));
    this.init = {
      ...live.init, t0: begin,
      programs: live.programs.map((program, k) => ({ nx: program.nx, nk: program.nk, ...this.numbers[k] })),
    };
    this.x0 = Float64Array.from(this.numbers[0].x0);
    this.D = live.programs.map((_, k) => Float64Array.from(this.numbers[k].D));
    this.P = this.numbers.map(n => Float64Array.from(n.P));
    this.controls();
    this.say("the recorded run");
    this.load().catch(problem => complain(`The sliders cannot simulate in this browser: ${problem.message}`));
  }

  // Unpack the programs, and let them run a few times when nothing else is to be done: they get several times as fast.
  async load() {
    const packed = Uint8Array.from(atob(document.getElementById("engine").textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    this.code = await new Response(stream).text();
    this.engine = new Function(`return ${this.code}`)()(this.init);
    if (this.asked || live.side) { this.asked = Math.max(1, this.asked); this.run(); return; }
    const idle = window.requestIdleCallback || (work => setTimeout(work, 200));
    let warm = 0;
    const warmUp = () => {
      if (++warm > 5 || this.asked) return;
      this.spent = this.engine(this.request()).spent;
      if (this.spent < 100) idle(warmUp);
    };
    idle(warmUp);
  }

  // Sliders and choices

  controls() {
    const box = document.createElement("section");
    box.id = "live";
    box.setAttribute("aria-label", "Values to move: every change simulates anew");
    this.values = live.sliders.map(slider => slider.value);
    this.inputs = live.sliders.map(slider => this.slider(slider, box));
    if (live.programs.length > 1 && !live.side) {
      const label = document.createElement("label"), select = document.createElement("select"), name = document.createElement("span");
      label.className = "choice";
      name.textContent = "method";
      select.id = "method";
      live.programs.forEach((program, k) => select.append(new Option(program.label, k)));
      select.addEventListener("change", () => { this.program = Number(select.value); this.usable(); this.again(); });
      this.select = select;
      label.append(name, select);
      box.append(label);
    }
    const foot = document.createElement("div"), reset = document.createElement("button"), row = document.createElement("label");
    foot.className = "foot";
    this.told = document.createElement("output");
    this.told.id = "told";
    this.told.setAttribute("aria-live", "off");
    this.refused = document.createElement("p");
    this.refused.id = "refused";
    this.refused.setAttribute("role", "status");
    reset.type = "button";
    reset.className = "plain";
    reset.id = "recorded";
    reset.textContent = "As recorded";
    reset.title = "All values as they were in the recorded run";
    reset.addEventListener("click", () => this.reset());
    const check = document.createElement("input");
    check.type = "checkbox";
    check.checked = true;
    check.id = "ghost";
    check.addEventListener("change", () => { this.ghost.visible = check.checked; panels.forEach(p => p.choose(p.signal.name)); paint(); });
    row.append(check, "recorded run, in grey");
    foot.append(this.told, reset, row);
    box.append(foot, this.refused);
    document.querySelector("body > header").append(box);
    this.usable();
  }

  slider(slider, box) {
    const label = document.createElement("label"), name = document.createElement("span");
    const input = document.createElement("input"), value = document.createElement("output");
    input.type = "range";
    input.id = `slide-${slider.name}`;
    value.htmlFor = input.id;
    name.textContent = slider.name;
    const table = slider.values; // settings of methods stand in a table, other numbers move freely
    [input.min, input.max, input.step] = table ? [0, table.length - 1, 1] : [slider.low, slider.high, "any"];
    const read = () => table ? table[Number(input.value)] : Number(input.value);
    const tell = () => { value.textContent = text(read()); input.setAttribute("aria-valuetext", value.textContent); };
    const put = at => { input.value = at; tell(); this.values[live.sliders.indexOf(slider)] = read(); this.enter(slider, read(), Number(input.value)); };
    const change = () => { put(input.value); this.again(); };
    input.addEventListener("input", change);
    input.addEventListener("change", () => this.settle());
    input.addEventListener("keydown", event => { // a hundredth of the range, with shift or by page a tenth
      if (table) return;
      const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (!way) return;
      event.preventDefault();
      put(Math.min(slider.high, Math.max(slider.low, read() + way * (event.shiftKey ? 10 : 1) * nice((slider.high - slider.low) / 100))));
      this.again();
      this.settle();
    });
    label.append(name, input, value);
    box.append(label);
    const first = table ? slider.first : slider.value;
    put(first);
    return { slider, input, label, reset: () => put(first) };
  }

  // Where a number goes: into the parameters, the start, or what the methods are given.
  enter(slider, value, at) {
    live.programs.forEach((_, k) => {
      if (slider.place !== undefined) { this.D[k][slider.place] = value; this.P[k][slider.own[k]] = value; }
      if (slider.start !== undefined) this.x0[slider.start] = value;
      for (const { array, place, values } of (slider.entries || [])[k] || []) {
        if (place === null) this.numbers[k][array] = values[at];
        else (array === "P" ? this.P[k] : this.numbers[k][array])[place] = values[at];
      }
    });
  }

  // Numbers of the programs that run: the chosen one, or all side by side.
  get running_programs() { return live.side ? live.programs.map((_, k) => k) : [this.program]; }

  // A slider that means nothing to the method is switched off.
  usable() {
    for (const { slider, input, label } of this.inputs) {
      input.disabled = Boolean(slider.entries) && !this.running_programs.some(k => slider.entries[k].length);
      label.title = input.disabled ? `${live.programs[this.program].label} does not use ${slider.name}` : "";
    }
  }

  reset() {
    for (const each of this.inputs) each.reset();
    this.program = 0;
    if (this.select) this.select.value = 0;
    this.usable();
    this.again();
    this.settle();
  }

  // Runs

  request() {
    const runs = this.running_programs.map(k => {
      const { REALS0, WHOLES0, sp, atol, tol, least } = this.numbers[k], copy = array => Float64Array.from(array);
      return {
        program: k, x0: copy(this.x0), P: copy(this.P[k]), D: copy(this.D[k]), numbers: { REALS0, WHOLES0, sp, atol, tol, least },
      };
    });
    return { number: this.asked, values: [...this.values], runs };
  }

  // Simulate with the next frame, however often it was asked for; one run at a time.
  again() {
    this.asked++;
    if (this.waiting || this.running) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.run(); });
  }

  // Whether the picture shows what the sliders say.
  get resting() { return Boolean(this.engine) && !this.waiting && !this.running && this.shown === this.asked; }

  run() {
    if (!this.engine) return; // not unpacked yet: then it runs
    if (this.spent > LONG && !this.noWorker) this.outside();
    else this.done(this.engine(this.request()));
  }

  outside() {
    try {
      if (!this.worker) {
        const code = `const make = ${this.code}; let engine;
          onmessage = event => { if (event.data.init) engine = make(event.data.init); else postMessage(engine(event.data)); };`;
        this.worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
        this.worker.onmessage = event => { this.running = false; this.done(event.data); };
        this.worker.onerror = () => { this.running = false; this.noWorker = true; this.again(); };
        this.worker.postMessage({ init: this.init });
      }
      this.running = true;
      this.worker.postMessage(this.request());
    } catch { // a page inside another may not be allowed to: then it runs here
      this.noWorker = true;
      this.running = false;
      this.run();
    }
  }

  done({ number, values, found, spent }) {
    this.spent = spent;
    this.shown = number;
    this.last = found[0].told;
    this.all = found;
    if (found.some(({ made }) => made)) this.shape(values);
    for (const each of found) if (each.made) this.show(each, this.tracks[live.side ? each.program : 0]);
    for (const panel of panels) panel.refresh();
    if (painter.renew) painter.renew();
    this.words(found);
    paint();
    if (number < this.asked) this.again();
    else if (this.settling) this.settle();
  }

  // Where joints, springs and points sit on their bodies, with the values of this run.
  shape(values) {
    for (const { path, value, slopes } of live.moves) {
      let part = what;
      for (const step of path.slice(0, -1)) part = part[step];
      part[path[path.length - 1]] = slopes.reduce((sum, [k, slope]) => sum + slope * (values[k] - live.sliders[k].value), value);
    }
    if (live.moves.length) for (const body of what.bodies) for (const shape of body.shapes) { delete shape.corners2d; delete shape.bounds; }
  }

  show({ program, told, made }, track) {
    const n = told.rows, times = this.numbers[program].save_t.subarray(0, n);
    track.tau = Float64Array.from(times, t => forward * (t - begin));
    track.frames = n;
    track.last = track.tau[n - 1];
    track.paths = new Map();
    track.made = new Map();
    for (const name of ["poses", "lines", "forces"]) if (made[name]) track[name] = made[name];
    for (const [name, own] of track.signals) if (made[name]) Object.assign(own, { numbers: made[name], tau: track.tau, t: null });
    track.events = live.events.map((name, k) => ({
      name, tau: Float64Array.from(told.events.filter(([which]) => which === k), ([, t]) => forward * (t - begin)),
    })).filter(event => event.tau.length);
  }

  // The steps and the time they took; what went wrong, and what the picture shows then.
  words(found) {
    const label = ({ program }) => live.programs.length > 1 ? `${live.programs[program].label}: ` : "";
    const ms = solved => solved === 0 ? "under 1 ms" : `${solved.toFixed(solved < 10 ? 1 : 0)} ms`; // some clocks tick once a millisecond
    const steps = ({ told }) => `${told.accepted} steps${told.rejected ? `, ${told.rejected} rejected` : ""}, ${ms(told.solved)}`;
    const why = each => {
      const { told, made } = each;
      const strong = this.tooStrong(each.program);
      if (made && strong) return strong;
      if (made) return told.event >= 0 ? `“${live.events[told.event]}” ended the run at t = ${text(told.t, 4)} s.` : "";
      const reason = live.words[told.status] || `status ${told.status}`;
      return `${live.side ? label(each) : ""}${told.rows ? `Stopped at t = ${text(told.t, 4)} s: ` : ""}${reason}. The picture shows the last run that went through.`;
    };
    const total = found.reduce((sum, { told }) => sum + told.solved, 0);
    this.say(live.side ? `${found.length} runs, ${ms(total)}` : `${label(found[0])}${found[0].made ? steps(found[0]) : "no run"}`);
    this.refused.textContent = found.map(why).filter(Boolean).join(" ");
  }

  // A stabilization that the fixed step cannot follow: Python refuses such a run, here it is told.
  tooStrong(program) {
    const { gain, label } = live.programs[program];
    if (!gain) return "";
    const now = name => { const k = live.sliders.findIndex(slider => slider.name === name); return k < 0 ? null : this.values[k]; };
    const product = (now(gain.name) ?? gain.value) * (now("step") ?? gain.step);
    return product > gain.limit ? `${label}: ${gain.name} times the step is ${text(product)}, where simulate() allows ${text(gain.limit)}; the picture shows what comes of it.` : "";
  }

  say(words) { this.told.textContent = words; }

  // When the hand rests: everything has to be in the picture.
  settle() {
    this.settling = this.shown < this.asked;
    if (this.settling) return;
    strongest = null;
    if (painter.travel) painter.travel();
    if (painter.measure) painter.measure(); // in space the reader chooses from where to look
    else {
      painter.bounds = null;
      if (!painter.moved) painter.fit();
    }
    paint();
  }
}
