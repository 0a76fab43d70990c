"""In which order bodies and rows leave Newton's matrix, see `assembly.saddle_order`: minimum degree on cliques, in integers.

Nodes are lumps of bodies and the rows of a joint. What is left of a front is one clique more, in the place of those that it takes,
so a node is never in more of them than at the beginning. Lumps stand in a heap by (degree, number).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..native.marks import leaf
from ..native.types import Group, i8, ints

FULL = -1  # answer where the lists have no more room


class Coupling(NamedTuple):
    """What is coupled."""

    heights: Any  # variables of each node, lumps first
    freedom: Any  # freedoms of each lump that rows can take
    node_first: Any  # where the cliques of each node begin in `slots`
    slots: Any  # cliques, node by node; used up
    ends_first: Any  # where the lumps of each node of rows begin in `ends`
    ends: Any
    held: Any  # of each of these, whether that lump alone holds the rows
    waiting: Any  # of each node, whether its rows wait until all bodies that hold them are gone


class Cliques(NamedTuple):
    """Nodes that are coupled with each other."""

    starts: Any  # where those of each begin in `lists`
    counts: Any
    lists: Any
    weights: Any  # variables of each
    rooms: Any  # freedoms of eliminated parts, of the cliques that are left of them


class FrontsFound(NamedTuple):
    """The order that is found; what each front leaves is the clique of its number behind those of the beginning."""

    own: Any  # nodes of front after front
    own_first: Any
    gone: Any  # of each node, whether it is in a front


class OrderRoom(NamedTuple):
    """Room to find it in."""

    degrees: Any  # of each lump
    heap: Any
    place: Any  # of each lump in the heap
    around: Any  # nodes beside a front
    state: Any  # of each node: the turn in which it is around, or minus that in which it is eliminated
    carried: Any  # of each node, the turn in which an eliminated part holds it
    taken: Any  # of each clique, the turn in which it was taken
    touched: Any  # of each node, how many cliques it is in


@leaf
def _before(degrees, one, other):
    return degrees[one] < degrees[other] or (degrees[one] == degrees[other] and one < other)


@leaf
def _rise(heap, place, degrees, at):
    """Move a lump of the heap up to where it belongs."""
    lump = heap[at]
    while at > 0 and _before(degrees, lump, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        place[heap[at]] = at
        at = (at - 1) // 2
    heap[at] = lump
    place[lump] = at


@leaf
def _sink(heap, place, degrees, at, size):
    """Move a lump of the heap down to where it belongs."""
    lump = heap[at]
    going = True
    while going and 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(degrees, heap[child + 1], heap[child]):
            child += 1
        if _before(degrees, heap[child], lump):
            heap[at] = heap[child]
            place[heap[at]] = at
            at = child
        else:
            going = False
    heap[at] = lump
    place[lump] = at


@leaf
def _take(clique, cliques, many, turn, n_lumps, room, n_around):
    """Take a clique into a front: its nodes are around from now on. Return how many are."""
    starts, counts, lists = cliques.starts, cliques.counts, cliques.lists
    room.taken[clique] = turn
    for t in range(starts[clique], starts[clique] + counts[clique]):
        node = lists[t]
        if room.state[node] != turn and room.state[node] != -turn:
            room.state[node] = turn
            room.around[n_around] = node
            n_around += 1
        if clique >= many and node >= n_lumps:
            room.carried[node] = turn
    return n_around


@leaf
def _may_go(row, lump, coupling, found, room, turn, n_lumps, freedoms, rest):
    """Whether rows can go with a lump: they have freedoms, and something that is eliminated holds them."""
    first, end = coupling.ends_first[row - n_lumps], coupling.ends_first[row - n_lumps + 1]
    if coupling.waiting[row]:
        for e in range(first, end):
            if coupling.ends[e] != lump and not found.gone[coupling.ends[e]]:
                return False
        return True
    if coupling.heights[row] > freedoms:
        return False
    if rest == 0 or room.carried[row] == turn:
        return True
    for e in range(first, end):
        if coupling.ends[e] == lump and coupling.held[e]:
            return True
    return False


@leaf
def order_bodies(
    coupling: Group(Coupling, (ints, ints, ints, ints, ints, ints, ints, ints)),
    cliques: Group(Cliques, (ints, ints, ints, ints, ints)), many: i8, found: Group(FrontsFound, (ints, ints, ints)),
    room: Group(OrderRoom, (ints, ints, ints, ints, ints, ints, ints, ints)),
) -> i8:  # fmt: skip
    """Find the fronts, one for each lump; `many` cliques there are at the beginning. Return how many fronts, or FULL."""
    heights, freedom, node_first, slots = coupling.heights, coupling.freedom, coupling.node_first, coupling.slots
    starts, counts, lists, weights, rooms = cliques
    degrees, heap, place, around = room.degrees, room.heap, room.place, room.around
    state, touched, taken = room.state, room.touched, room.taken
    n_lumps, n = len(freedom), len(heights)
    for node in range(n):
        touched[node] = node_first[node + 1] - node_first[node]
    for lump in range(n_lumps):
        degrees[lump], heap[lump], place[lump] = 0, lump, lump
        for s in range(node_first[lump], node_first[lump + 1]):
            degrees[lump] += weights[slots[s]] - heights[lump]
        _rise(heap, place, degrees, lump)
    size, fronts, k = n_lumps, 0, 0
    top = 0 if many == 0 else starts[many - 1] + counts[many - 1]
    found.own_first[0] = 0
    while size > 0:
        lump, turn = heap[0], fronts + 1
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            place[heap[0]] = 0
            _sink(heap, place, degrees, 0, size)
        state[lump] = -turn
        found.own[k], k = lump, k + 1
        freedoms, n_around = freedom[lump], 0
        for s in range(node_first[lump], node_first[lump] + touched[lump]):
            freedoms += rooms[slots[s]]
            n_around = _take(slots[s], cliques, many, turn, n_lumps, room, n_around)
        best = 0
        while best >= 0:
            best, least, most = -1, 0, 0
            for i in range(n_around):
                row = around[i]
                if row < n_lumps or state[row] != turn:
                    continue
                rest, more = 0, freedoms
                for s in range(node_first[row], node_first[row] + touched[row]):
                    if taken[slots[s]] != turn:
                        rest += 1
                        more += rooms[slots[s]]
                if not _may_go(row, lump, coupling, found, room, turn, n_lumps, more, rest):
                    continue
                fill = 0
                for s in range(node_first[row], node_first[row] + touched[row]):
                    c = slots[s]
                    if taken[c] != turn:
                        for t in range(starts[c], starts[c] + counts[c]):
                            if state[lists[t]] != turn:
                                fill += heights[lists[t]]
                if best < 0 or fill < least or (fill == least and row < best):
                    best, least, most = row, fill, more
            if best >= 0:
                state[best] = -turn
                found.own[k], k = best, k + 1
                for s in range(node_first[best], node_first[best] + touched[best]):
                    if taken[slots[s]] != turn:
                        n_around = _take(slots[s], cliques, many, turn, n_lumps, room, n_around)
                freedoms = most - heights[best]
        # one clique in the place of those that are taken
        clique = many + fronts
        starts[clique], weight = top, 0
        for i in range(n_around):
            if state[around[i]] == turn:
                if top == len(lists):
                    return FULL
                lists[top], top = around[i], top + 1
                weight += heights[around[i]]
        counts[clique], weights[clique], rooms[clique] = top - starts[clique], weight, max(0, freedoms)
        for t in range(starts[clique], top):
            node = lists[t]
            left = node_first[node]
            for s in range(node_first[node], node_first[node] + touched[node]):
                if taken[slots[s]] != turn:
                    slots[left], left = slots[s], left + 1
                elif node < n_lumps:
                    degrees[node] -= weights[slots[s]] - heights[node]
            slots[left] = clique
            touched[node] = left + 1 - node_first[node]
            if node < n_lumps:
                degrees[node] += weight - heights[node]
                _rise(heap, place, degrees, place[node])
                _sink(heap, place, degrees, place[node], size)
        for i in range(found.own_first[fronts], k):
            found.gone[found.own[i]] = 1
        fronts += 1
        found.own_first[fronts] = k
    return fronts


class LeftRoom(NamedTuple):
    """Room to find places in; -1 where there is nothing."""

    first: Any  # of each front, the first that leaves it something
    last: Any  # and the last
    following: Any  # the next that leaves something to the same front
    free: Any  # of each number of variables, a front whose place is free, that left so many
    more: Any  # the next whose place is free


@leaf
def places_of_what_is_left(parents: ints, left: ints, places: ints, room: Group(LeftRoom, (ints, ints, ints, ints, ints))) -> i8:
    """Find places for what fronts leave, used again by what is as large once it is taken; return how much room that is."""
    end = 0
    for front in range(len(parents)):
        parent, many = parents[front], left[front]
        if parent >= 0:
            known = room.free[many]
            if known >= 0:
                places[front], room.free[many] = places[known], room.more[known]
            else:
                places[front], end = end, end + many * many
            if room.first[parent] < 0:
                room.first[parent] = front
            else:
                room.following[room.last[parent]] = front
            room.last[parent] = front
        child = room.first[front]
        while child >= 0:
            room.more[child], room.free[left[child]] = room.free[left[child]], child
            child = room.following[child]
    return end
