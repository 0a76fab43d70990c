"""Finding events inside one step.

Event functions are looked at on the projected dense output at θ = 1/3, 2/3, 1. A crossing is a change
between nonzero signs; a zero that is only touched changes nothing, so no event is lost or counted twice.
Each crossing is then closed in by regula falsi with Illinois' weights.
"""

from __future__ import annotations

from ..errors import OK
from .compile import inner
from .evaluate import evaluate
from .signatures import EVENTS, NEV, NK, NQ, NX, call_interpolate, call_model, call_pull
from .state import DENSES, EVENT_FIELD, H_USED, PULLS, T
from .vectors import copy, copy_row

SAMPLES = 3
MAX_ITERATIONS = 80


@inner
def state_inside(slots, fns, n, data, ip, fp, sp, theta, t, h, x, K, xn, xe, ke, W, with_field):
    """Projected state at t + θ h into xe, and (if asked) the field there into ke."""
    status = call_interpolate(slots, n, ip, fp, theta, h, x, K, xn, xe)
    if status != OK:
        return status
    status = call_pull(slots, fns, n, data, sp, t + theta * h, xe, W)
    if status != OK:
        return status
    if with_field:
        return evaluate(fns, n, t + theta * h, xe, data, ke, 0, W)
    return OK


@inner
def event_values(slots, fns, n, data, ip, fp, sp, theta, t, h, x, K, xn, last, xe, ke, W, I, values):
    """Event functions at t + θ h."""
    if theta >= 1.0:
        copy(xn, xe, n[NX])
        copy_row(K, last, ke, 0, n[NQ] + n[NK])
    else:
        I[PULLS] += 1
        status = state_inside(
            slots, fns, n, data, ip, fp, sp, theta, t, h, x, K, xn, xe, ke, W, I[EVENT_FIELD] != 0
        )
        if status != OK:
            return status
    call_model(fns, EVENTS, t + theta * h, xe, 0, ke, n[NQ], data, values, 0)
    return OK


@inner
def find_events(slots, fns, n, data, ip, fp, sp, S, I, x, K, xn, last, xe, ke, W, ev_dir, ev_sign, ev_at, ev_value,
                values, sampled, found_theta, found_index):  # fmt: skip
    """Collect the crossings of this step in order of time; return their number, or minus a status.

    ev_sign holds the last nonzero sign of each event, ev_at and ev_value where and what it was.
    """
    t, h = S[T], S[H_USED]
    count = 0
    for sample in range(1, SAMPLES + 1):
        theta = sample / SAMPLES if sample < SAMPLES else 1.0
        status = event_values(slots, fns, n, data, ip, fp, sp, theta, t, h, x, K, xn, last, xe, ke, W, I, values)
        if status != OK:
            return -status
        for k in range(n[NEV]):
            sampled[k] = values[k]
        for k in range(n[NEV]):
            value = sampled[k]
            sign = 1 if value > 0.0 else (-1 if value < 0.0 else 0)
            if sign == 0:
                continue
            if ev_sign[k] == 2:  # zero at the start of the run: counts if it leaves in its direction
                if ev_dir[k] == 0 or ev_dir[k] == sign:
                    found_theta[count] = 0.0
                    found_index[count] = k
                    count += 1
            elif ev_sign[k] != 0 and sign != ev_sign[k] and (ev_dir[k] == 0 or ev_dir[k] == sign):
                zero = close_in(
                    slots, fns, n, data, ip, fp, sp, t, h, x, K, xn, last, xe, ke, W, I, k, ev_at[k], ev_value[k],
                    theta, value, values,
                )  # fmt: skip
                if zero < 0.0:
                    return int(zero)
                found_theta[count] = zero
                found_index[count] = k
                count += 1
            ev_sign[k] = sign
            ev_at[k] = theta
            ev_value[k] = value
    for i in range(1, count):  # by time; equal times keep their order
        theta, index = found_theta[i], found_index[i]
        j = i - 1
        while j >= 0 and found_theta[j] > theta:
            found_theta[j + 1] = found_theta[j]
            found_index[j + 1] = found_index[j]
            j -= 1
        found_theta[j + 1] = theta
        found_index[j + 1] = index
    I[DENSES] += 1
    return count


@inner
def close_in(slots, fns, n, data, ip, fp, sp, t, h, x, K, xn, last, xe, ke, W, I, k, a, fa, b, fb, values):
    """Return θ of the zero of event k between a and b, where its signs differ; minus a status on failure."""
    tolerance = max(4e-16, 4e-16 * abs(t / h)) if h != 0.0 else 1.0
    if fa == 0.0:
        return a
    side = 0
    for i in range(MAX_ITERATIONS):
        if abs(b - a) <= tolerance:
            break
        c = (fa * b - fb * a) / (fa - fb) if i % 3 != 2 else 0.5 * (a + b)
        if not (c > a and c < b):
            c = 0.5 * (a + b)
        if c == a or c == b:
            break
        status = event_values(slots, fns, n, data, ip, fp, sp, c, t, h, x, K, xn, last, xe, ke, W, I, values)
        if status != OK:
            return -float(status)
        fc = values[k]
        if fc == 0.0:
            return c
        if fc * fb > 0.0:
            b, fb = c, fc
            if side == -1:
                fa *= 0.5
            side = -1
        else:
            a, fa = c, fc
            if side == 1:
                fb *= 0.5
            side = 1
    return b
