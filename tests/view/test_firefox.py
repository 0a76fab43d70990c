"""Live pages in Firefox: sliders that a script moves give the runs that Python gives. It tells what it found to a server here."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import threading

import numpy as np
import pytest
from test_live import BOUNCES, BOUNCING

import holonomic as h
from holonomic.problems import pendulum
from holonomic.view import view

FIREFOX = next((path for name in ("firefox", "firefox-esr") if (path := shutil.which(name))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(FIREFOX is None, reason="needs Firefox")]

MOVES = """<script>
(async () => {
  const until = ready => new Promise(done => { const look = () => ready() ? done() : setTimeout(look, 50); look(); });
  await until(() => window.holonomic && holonomic.live && holonomic.live.engine);
  holonomic.pause();
  const values = VALUES;
  for (const name in values) {
    const { input } = holonomic.live.inputs.find(each => each.slider.name === name);
    input.value = values[name];
    for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind));
  }
  await until(() => holonomic.live.resting);
  await fetch("/told", { method: "POST", body: JSON.stringify({ ...holonomic.live.last, browser: navigator.userAgent }) });
})();
</script></body>"""


def told_by_firefox(page, values, folder) -> dict:
    """Open a page, move its sliders, and return what the page tells of the last run."""
    html, found, there = page.html.replace("</body>", MOVES.replace("VALUES", json.dumps(values))), {}, threading.Event()

    class Served(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def do_POST(self):
            found.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            there.set()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/page.html"
        firefox = subprocess.Popen(
            [FIREFOX, "--headless", "--no-remote", "--profile", str(folder), address],
            env=os.environ | {"HOME": str(folder)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert there.wait(60.0), "Firefox told nothing"
        finally:
            firefox.terminate()
            firefox.wait(30.0)
            server.shutdown()
    return found


def agrees(told: dict, sol) -> None:
    assert "Firefox" in told["browser"] and abs(told["accepted"] - sol.stats["steps"]) <= 1
    np.testing.assert_allclose(told["x"], np.concatenate([sol.q[-1], sol.v[-1]]), rtol=1e-7, atol=1e-7)  # a tenth of rtol


def test_sliders_give_the_runs_of_python_in_firefox(tmp_path):
    methods = {"integrator": h.DOP853(), "stabilization": h.Projection(), "rtol": 1e-6}
    page = view(pendulum(), 5.0, live={"g": (1, 25), "L": (0.5, 2), "v0.y": (-8, 8)}, show=False, frames=101, **methods)
    told = told_by_firefox(page, {"g": 4.5, "L": 1.5, "v0.y": 2.0}, tmp_path)
    problem = pendulum()
    start = {"q0": problem.q0, "v0": [0.0, 2.0], "initial": "project"}
    agrees(told, h.simulate(problem.system.with_params(g=4.5, L=1.5), 5.0, **start, **methods))


def test_bounces_are_those_of_python_in_firefox(tmp_path):
    options = {"q0": [0, 1], "v0": [1, 0], "integrator": h.RK45(), "events": BOUNCES}
    page = view(BOUNCING, 4.0, live={"e": (0.5, 1), "g": (1, 25)}, show=False, **options)
    told = told_by_firefox(page, {"e": 0.7, "g": 12.0}, tmp_path)
    agrees(told, h.simulate(BOUNCING.with_params(e=0.7, g=12.0), 4.0, **options))
