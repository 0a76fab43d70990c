// The engine of a live page: from numbers that were moved to what is drawn. It runs in the page, or in a worker beside it.

const makeEngine = init => {
  const built = init.programs.map((given, k) => {
    const P = Float64Array.from(given.P);
    return { ...given, P, run: PROGRAMS[k](given.C, P), X: matrix(init.frames, given.nx), K: matrix(init.frames, given.nk) };
  });
  const room = {};
  for (const name in init.sizes) room[name] = new Float64Array(init.sizes[name]);

  // What invariants are at this start: the run keeps them there.
  function begin(b, asked) {
    const { at, own, row } = init.invariants;
    asked.D.fill(0, at, at + own.length);
    MODEL.residual(init.t0, asked.x0, asked.x0, asked.D, room.residual);
    own.forEach((place, i) => { asked.D[at + i] = b.P[place] = room.residual[row + i]; });
  }

  // Signals and pictures at the saved times, as 32-bit numbers.
  function arrays(b, rows, D) {
    const made = {};
    for (const name in init.signals) made[name] = new Float32Array(rows * init.signals[name].length);
    const count = picture => picture.rows ? picture.rows.length : picture.count;
    for (const name in init.pictures) made[name] = new Float32Array(rows * count(init.pictures[name]));
    const both = "energy change" in init.signals ? [new Float64Array(rows), new Float64Array(rows)] : [], [kinetic, potential] = both;
    const turning = Object.keys(init.signals).filter(name => init.signals[name].some(line => line.rate !== undefined));
    const turned = new Map();
    for (let f = 0; f < rows; f++) {
      const x = b.X[f], k = b.K[f], t = b.save_t[f], from = { ...room, x, k };
      for (const name in MODEL) MODEL[name](t, x, k, D, room[name]);
      if (kinetic) { kinetic[f] = room.energy[0]; potential[f] = room.energy[1]; }
      const lines = (name, rows) => { for (let i = 0; i < rows.length; i++) made[name][f * rows.length + i] = value(rows[i], from); };
      for (const name in init.signals) lines(name, init.signals[name]);
      for (const name of turning) made[name][f] = counted(turned, name, t, room.outputs[init.signals[name][0].at], room.outputs[init.signals[name][0].rate]);
      for (const name in init.pictures) {
        const { rows, of, first, count } = init.pictures[name];
        if (rows) lines(name, rows);
        else made[name].set(from[of].subarray(first, first + count), f * count);
      }
    }
    if (kinetic) made["energy change"] = change(kinetic, potential);
    return made;
  }

  // Change of the total energy, relative to the energy that moves: the largest kinetic one, or change of the potential one.
  function change(kinetic, potential) {
    const n = kinetic.length, first = kinetic[0] + potential[0];
    let moves = 0;
    for (let f = 0; f < n; f++) moves = Math.max(moves, kinetic[f], Math.abs(potential[f] - potential[0]));
    return Float32Array.from(kinetic, (k, f) => (k + potential[f] - first) / (moves || 1));
  }

  // An angle in space with its turns, which the speeds between two times tell; not a number from where they leave a doubt.
  function counted(turned, name, t, angle, speed) {
    const last = turned.get(name), now = { t, angle, speed, turns: 0 };
    if (last) {
      const missing = ((t - last.t) * (speed + last.speed) / 2 - (angle - last.angle)) / (2 * Math.PI), whole = Math.round(missing);
      now.turns = Math.abs(missing - whole) > 0.3 ? NaN : last.turns + whole;
    }
    turned.set(name, now);
    return angle + 2 * Math.PI * now.turns;
  }

  function value(line, from) {
    if (line.change) return 0; // of the whole run: made when all of it is known
    if (line.coupled) { // a force or torque of a joint: what couplings add, by their multipliers
      const more = line.coupled.reduce((sum, [row, at]) => sum + from[line.by][row] * from.outputs[at], 0);
      return more + value({ ...line, coupled: null }, from);
    }
    if (line.turned) return line.turned.reduce((sum, [each, at]) => sum + value(each, from) * from.outputs[at], 0);
    const values = from[line.of];
    if (line.at !== undefined) return values[line.at];
    if (line.pull) { // an entry of -Gᵀλ
      let sum = 0;
      for (const [entry, row] of line.pull) sum += values[entry] * from[line.by][row];
      return line.sign * sum;
    }
    if (line.sum) return line.sum.reduce((sum, i) => sum + values[i], 0);
    let largest = line.least;
    for (const i of line.largest) { const size = Math.abs(values[i]); if (!(size <= largest)) largest = size; }
    return largest;
  }

  function run(asked) {
    const b = built[asked.program], n = asked.numbers, began = performance.now();
    b.P.set(asked.P);
    if (init.invariants) begin(b, asked);
    const told = b.run(asked.x0, n.REALS0, n.WHOLES0, n.sp, n.atol, n.tol, n.least, b.stops, b.save_t, b.X, b.K);
    told.solved = performance.now() - began;
    const good = init.good.includes(told.status) && told.rows > 0;
    return { program: asked.program, told, made: good ? arrays(b, told.rows, asked.D) : null };
  }

  return asked => {
    const began = performance.now(), found = asked.runs.map(run);
    return { number: asked.number, values: asked.values, found, spent: performance.now() - began };
  };
};
