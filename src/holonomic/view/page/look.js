// Colours, lettering and numbers as text.

const dark = matchMedia("(prefers-color-scheme: dark)");
let look = meta.looks.light;

function applyTheme(theme) {
  const wanted = theme || meta.theme;
  const name = wanted === "auto" ? (dark.matches ? "dark" : "light") : wanted;
  document.documentElement.dataset.theme = name;
  look = { ...meta.looks[name], name };
}

function shade(colour, part, towards) {
  const [a, b] = [colour, towards].map(c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16)));
  return "#" + a.map((x, i) => Math.round(x + part * (b[i] - x)).toString(16).padStart(2, "0")).join("");
}

function clear(colour, alpha) {
  return colour + Math.round(255 * alpha).toString(16).padStart(2, "0");
}

const rgb = colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16) / 255);

// Bodies of a single run differ by colour; of several runs, the runs do.
const bodyColour = (track, k) => byRun(track) ? trackColour(track) : look.lines[k % look.lines.length];
const trackColour = track => track.ghost ? look.soft : look.lines[track.index % look.lines.length];
const trackAlpha = track => (track.ghost ? 0.32 : 1) * (several && dimension === 3 && track.index > 0 ? 0.55 : 1) * (track.ended ? 0.35 : 1);

function text(value, digits = 3) {
  if (!Number.isFinite(value)) return "not finite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  if (size >= 10 ** digits) return String(Math.round(value)).replace("-", "−");
  return value.toPrecision(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace("-", "−");
}

function nice(size) { // the largest of 1, 2, 5 times a power of ten that is not larger
  const power = 10 ** Math.floor(Math.log10(size)), part = size / power;
  return power * (part >= 5 ? 5 : part >= 2 ? 2 : 1);
}

function ticks(low, high, count) {
  const step = nice((high - low) / Math.max(1, count)) || 1, found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

const ratio = () => Math.min(window.devicePixelRatio || 1, 2);

// Fit a canvas to its box; return its size in CSS pixels.
function fitCanvas(canvas, quality = 1) {
  const box = canvas.getBoundingClientRect(), r = ratio() * quality;
  const w = Math.max(1, Math.round(box.width * r)), h = Math.max(1, Math.round(box.height * r));
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  return { w: w / r, h: h / r };
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';
