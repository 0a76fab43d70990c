"""What is watched of tables: functions of events, which look at the whole state, then the switches of every element."""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, inner, kernel, leave_room, numbers_at, take_room, whole_at
from .elements import numbers
from .signatures import NO_MODE
from .table_operators import OPERATOR

# words of a kind: elements, switches of each, numbers that they see of the state, numbers of data; the function and its context,
# address of the places of what they see in the model, of those in data, of the numbers of the switches
WATCHED_KIND = 9

WATCHED = Layout(
    "Watched",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("kinds", "address of the kinds, `WATCHED_KIND` words each"),
            ("n_kinds", "how many"),
            ("n_switches", "switches of all elements"),
            ("events", "address of the operator of events; 0: there are none"),
            ("of_events", "its context"),
            ("n_events", "how many events"),
            ("nq", "coordinates"),
            ("most_seen", "numbers of the state that an element sees, at most"),
            ("most_data", "the same of data"),
            ("most_written", "numbers that an element writes"),
        )
    ],
)
see = view_as(WATCHED)


@inner
def _each(head, t, x, wide, b, given, out, n):
    """What n functions of each switch give: its value; its rate and the size of that; or four bounds. States are `wide`."""
    kinds, total = whole_at(head.kinds, 1), head.n_events + head.n_switches
    address = take_room((wide + 1) * head.most_seen + head.most_data + head.most_written)
    if address == 0:
        return NOT_FINITE
    at_slope, at_out = wide * head.most_seen, (wide + 1) * head.most_seen
    T, D = numbers_at(address, 1), numbers_at(address + 8 * (at_out + head.most_written), 1)
    for k in range(head.n_kinds):
        base = WATCHED_KIND * k
        many, seen, n_data = kinds[base + 1], kinds[base + 2], kinds[base + 3]
        places, of_data, which = whole_at(kinds[base + 6], 1), whole_at(kinds[base + 7], 1), whole_at(kinds[base + 8], 1)
        for e in range(kinds[base]):
            for i in range(seen):
                place = places[e * seen + i]
                for j in range(wide):
                    T[wide * i + j] = x[wide * place + j]
                if n == 2:
                    T[at_slope + i] = b[place]
            numbers(of_data, e * n_data, n_data, given, D)
            if n == 4:
                call_model_at(kinds[base + 4], kinds[base + 5], NO_MODE, t, T, 0, b, 0, D, T, at_out)
            else:
                call_model_at(kinds[base + 4], kinds[base + 5], NO_MODE, t, T, 0, T, at_slope, D, T, at_out)
            for row in range(n):
                for i in range(many):
                    if which[e * many + i] >= 0:
                        out[row * total + head.n_events + which[e * many + i]] = T[at_out + row * many + i]
    leave_room(address)
    return OK


@inner
def _of_events(head, t, x, b, given, out, n):
    """What n functions of events give, row by row among those of the switches."""
    if head.events == 0:
        return OK
    status = call_model_at(head.events, head.of_events, NO_MODE, t, x, 0, b, 0, given, out, 0)
    for row in range(n - 1, 0, -1):  # rows lie right behind each other, and may lie in their own way
        for i in range(head.n_events - 1, -1, -1):
            out[row * (head.n_events + head.n_switches) + i] = out[row * head.n_events + i]
    return status


@kernel(OPERATOR)
def table_events(context, mode, t, a, b, data, out):
    """EVENTS: values of events, then of switches."""
    head = see(numbers_at(context, 1))
    x, given, found = numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1)
    status = _of_events(head, t, x, numbers_at(b, 1), given, found, 1)
    return status if status != OK else _each(head, t, x, 1, x, given, found, 1)


@kernel(OPERATOR)
def table_event_rates(context, mode, t, a, b, data, out):
    """EVENT_RATES: rates of events, then of switches; then their sizes."""
    head = see(numbers_at(context, 1))
    x, given, found = numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1)
    status = _of_events(head, t, x, numbers_at(b, 1), given, found, 2)
    return status if status != OK else _each(head, t, x, 1, numbers_at(b - 8 * head.nq, 1), given, found, 2)


@kernel(OPERATOR)
def table_bounds(context, mode, t, a, b, data, out):
    """BOUNDS of events, then of switches."""
    head = see(numbers_at(context, 1))
    curve, piece, given, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1)
    status = _of_events(head, t, curve, piece, given, found, 4)
    wide = 4 if piece[0] == 0.0 else int(piece[0]) + 1
    return status if status != OK else _each(head, t, curve, wide, piece, given, found, 4)
