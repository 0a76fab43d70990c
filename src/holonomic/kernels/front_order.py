"""In which order rows are eliminated, which fronts that makes, and which of them are alike: integers, found once for a mechanism.

Minimum degree on the quotient graph: nodes (rows of one joint) are the variables, lumps (bodies) the elements. A node touches
two lumps, a coupling four; what is left of the lumps of an eliminated node becomes one element of the graph, so that a node never
touches more than at the beginning. Nodes go in rounds, many at a time that do not touch each other: of a chain every second,
then every second of the rest. That makes a little more work than one end after the other, but eight of them can be done at once.
Nodes that touch nothing but what a node leaves go with it, in the same front, unless that would be a link of a chain, or the last
but one, whose loops are written out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..native.marks import leaf
from ..native.types import Group, i8, ints
from .few_rows import MOST
from .link_front import link_words
from .lone_front import ALONE

FULL = -1  # answer where the lists have no more room
HEAD = 9  # words of a group, as in `front_groups`
SMALL = 12  # rows of a front up to which another of twice as many is taken in the same round
SHORT, HIGH = 16, 5  # nodes up to which, of so many rows at least, chains go from their ends, eight would not be side by side


class Graph(NamedTuple):
    """Nodes and lumps before anything is eliminated."""

    heights: Any  # rows of each node
    lump_first: Any  # where the nodes of each lump begin in the lists
    node_first: Any  # where the lumps of each node begin in `slots`
    slots: Any  # lumps, node by node; used up


class Elements(NamedTuple):
    """Nodes of each element: of the lumps, then of what each front left."""

    starts: Any  # where they begin in `lists`
    counts: Any  # how many
    lists: Any


class Order(NamedTuple):
    """The order that is found."""

    own: Any  # nodes of front after front
    own_first: Any  # where those of each front begin
    levels: Any  # of each front, above those of all that left it something
    absorbed: Any  # which front took each element, -1: none


class Marks(NamedTuple):
    """Room to find it in, one number a node."""

    touched: Any  # elements that it touches now
    degrees: Any  # rows of the front that it would have now, -1: it is eliminated
    alive: Any  # those that are left
    mark: Any  # when it was counted last
    seen: Any  # the round in which it was touched last


class Nodes(NamedTuple):
    """What is told of nodes."""

    heights: Any  # rows
    when: Any  # how early each is eliminated
    row_place: Any  # of its first row


class Touches(NamedTuple):
    """Where lumps touch nodes."""

    first: Any  # where those of each lump begin
    sorted: Any  # touches lump by lump, each lump's in an order of their own
    node: Any  # of each touch
    stride: Any  # numbers in a row of its block of G
    place: Any  # of this block


class Lumps(NamedTuple):
    """What is told of lumps."""

    width: Any
    full: Any  # whether W⁻¹ is a whole matrix
    weights: Any  # place of W⁻¹


class Contents(NamedTuple):
    """What fronts are made of."""

    own: Any  # nodes of front after front
    own_first: Any  # where those of each front begin
    elements: Any  # behind the lumps what each front leaves
    of_front: Any  # where the lumps that each front takes begin in `lumps_of`
    lumps_of: Any
    child_first: Any  # where its children begin in `children`
    children: Any


class Forms(NamedTuple):
    """What is found of the form of each front."""

    shape: Any  # a number that equal forms have in common
    sizes: Any  # own rows, all rows, words of the program


class Groups(NamedTuple):
    """Fronts that are worked on together."""

    members: Any  # fronts, group by group
    first: Any  # where those of each group begin


class GroupProgram(NamedTuple):
    """The program of an elimination."""

    words: Any
    order: Any  # where each group begins among them
    used: Any  # numbers of panels, of what fronts leave at once, of sides and of blocks of a lump
    room: Any  # a number for each front, four for each group, and `ALONE`


ELEMENTS = Group(Elements, (ints, ints, ints))
CONTENTS = Group(Contents, (ints, ints, ELEMENTS, ints, ints, ints, ints))
NODES, LUMPS = Group(Nodes, (ints, ints, ints)), Group(Lumps, (ints, ints, ints))
TOUCHES = Group(Touches, (ints, ints, ints, ints, ints))
FORMS = Group(Forms, (ints, ints))


@leaf
def _rows_around(v, graph, elements, touched, mark, stamp):
    """Rows of the front that a node would have now."""
    slots, lists, begin, total = graph.slots, elements.lists, graph.node_first[v], 0
    for s in range(begin, begin + touched[v]):
        e = slots[s]
        for t in range(elements.starts[e], elements.starts[e] + elements.counts[e]):
            w = lists[t]
            if mark[w] != stamp:
                mark[w] = stamp
                total += graph.heights[w]
    return total


@leaf
def order_fronts(
    graph: Group(Graph, (ints, ints, ints, ints)), elements: ELEMENTS, found: Group(Order, (ints, ints, ints, ints)),
    room: Group(Marks, (ints, ints, ints, ints, ints)),
) -> i8:  # fmt: skip
    """Find the order, and the elements that fronts leave; return the number of fronts, or FULL."""
    heights, lump_first, node_first, slots = graph
    starts, counts, lists = elements
    own, own_first, levels, absorbed = found
    touched, degrees, alive, mark, seen = room
    n, lumps = len(heights), len(lump_first) - 1
    for e in range(lumps):
        starts[e], counts[e], absorbed[e] = lump_first[e], lump_first[e + 1] - lump_first[e], -1
    stamp = 0
    for v in range(n):
        touched[v] = node_first[v + 1] - node_first[v]
        mark[v], seen[v], alive[v] = -1, -1, v
    for v in range(n):
        stamp += 1
        degrees[v] = _rows_around(v, graph, elements, touched, mark, stamp)
    top, fronts, k, left, turn = lump_first[lumps], 0, 0, n, 0
    own_first[0] = 0
    while left > 0:
        least = degrees[alive[0]]
        for i in range(left):
            least = min(least, degrees[alive[i]])
        most = 2 * least if least <= SMALL else least + least // 4
        turn += 1
        ends = 0  # of those that may go: the others would wait for ends that wait for them
        for i in range(left if n <= SHORT else 0):
            v = alive[i]
            if heights[v] >= HIGH and degrees[v] == 2 * heights[v] and degrees[v] <= most:
                ends += 1
        for i in range(left):
            v = alive[i]
            if degrees[v] < 0 or seen[v] == turn or degrees[v] > most or (ends > 0 and degrees[v] > 2 * heights[v]):
                continue
            e, first, level = lumps + fronts, top, 0
            stamp += 1
            mark[v], degrees[v] = stamp, -1
            own[k], k = v, k + 1
            for s in range(node_first[v], node_first[v] + touched[v]):
                c = slots[s]
                absorbed[c] = fronts
                if c >= lumps:
                    level = max(level, levels[c - lumps] + 1)
                for t in range(starts[c], starts[c] + counts[c]):
                    w = lists[t]
                    if mark[w] != stamp:
                        mark[w] = stamp
                        if top == len(lists):
                            return FULL
                        lists[top], top = w, top + 1
            end, link = first, False
            if top - first == 2:
                link = heights[lists[first]] == heights[v] == heights[lists[first + 1]]
            elif top - first == 1:  # the last two of a chain
                link = MOST < heights[v] + heights[lists[first]] < ALONE
            for t in range(first, top):
                w = lists[t]
                others = node_first[w]
                for s in range(node_first[w], node_first[w] + touched[w]):
                    if absorbed[slots[s]] != fronts:
                        slots[others] = slots[s]
                        others += 1
                if others == node_first[w] and not link:  # nothing else touches it
                    degrees[w] = -1
                    own[k], k = w, k + 1
                    continue
                slots[others] = e
                touched[w], seen[w] = others + 1 - node_first[w], turn
                lists[end], end = w, end + 1
            top = end
            starts[e], counts[e], absorbed[e], levels[fronts] = first, end - first, -1, level
            fronts += 1
            own_first[fronts] = k
        still = 0
        for i in range(left):
            v = alive[i]
            if degrees[v] >= 0:
                alive[still], still = v, still + 1
        left = still
        for i in range(left):
            v = alive[i]
            if seen[v] == turn:
                stamp += 1
                degrees[v] = _rows_around(v, graph, elements, touched, mark, stamp)
    return fronts


@leaf
def _sorted_by(keys, items, first, end):
    """Sort items[first:end] by keys[item]."""
    for i in range(first + 1, end):
        item, j = items[i], i
        while j > first and keys[items[j - 1]] > keys[item]:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item
    return 0


@leaf
def _mixed(found, value):
    """A number that another one has changed beyond recognition."""
    found = (found ^ (value + 1)) * 1099511628211
    return found ^ (found >> 29)


@leaf
def describe_fronts(
    fronts: i8, contents: CONTENTS, nodes: NODES, touches: TOUCHES, lumps: LUMPS, forms: FORMS, local: ints, place: ints, key: ints
) -> i8:
    """Put what a front is made of into an order that depends on its form alone, and give equal forms equal numbers.

    Touches of lumps are sorted, too. `local` (one number a node), `place` (a touch) and `key` (an element) are room.
    """
    own, own_first, elements, of_front, lumps_of, child_first, children = contents
    starts, counts, lists = elements
    heights, width, full = nodes.heights, lumps.width, lumps.full
    touch_first, by_lump, touch_node = touches.first, touches.sorted, touches.node
    shape, sizes, many_lumps = forms.shape, forms.sizes, len(width)
    for f in range(fronts):
        e = many_lumps + f
        first, end = starts[e], starts[e] + counts[e]
        _sorted_by(nodes.when, lists, first, end)
        at = 0
        for i in range(own_first[f], own_first[f + 1]):
            local[own[i]] = at
            at += heights[own[i]]
        m = at
        for t in range(first, end):
            local[lists[t]] = at
            at += heights[lists[t]]
        n, words = at, HEAD + 8 * at
        for i in range(of_front[f], of_front[f + 1]):
            lump = lumps_of[i]
            for t in range(touch_first[lump], touch_first[lump + 1]):
                place[by_lump[t]] = local[touch_node[by_lump[t]]]
            _sorted_by(place, by_lump, touch_first[lump], touch_first[lump + 1])
            key[lump] = (place[by_lump[touch_first[lump + 1] - 1]] << 24) + place[by_lump[touch_first[lump]]]
        _sorted_by(key, lumps_of, of_front[f], of_front[f + 1])
        found = _mixed(_mixed(1469598103934665603, m), n)
        for i in range(of_front[f], of_front[f + 1]):
            lump = lumps_of[i]
            many = touch_first[lump + 1] - touch_first[lump]
            found = _mixed(_mixed(_mixed(found, width[lump]), full[lump]), many)
            for t in range(touch_first[lump], touch_first[lump + 1]):
                touch = by_lump[t]
                found = _mixed(_mixed(_mixed(found, touches.stride[touch]), heights[touch_node[touch]]), place[touch])
            words += 11 + 11 * many
        for i in range(child_first[f], child_first[f + 1]):
            child = many_lumps + children[i]
            key[children[i]] = (local[lists[starts[child] + counts[child] - 1]] << 24) + local[lists[starts[child]]]
        _sorted_by(key, children, child_first[f], child_first[f + 1])
        for i in range(child_first[f], child_first[f + 1]):
            child = many_lumps + children[i]
            found = _mixed(found, counts[child])
            for t in range(starts[child], starts[child] + counts[child]):
                found = _mixed(_mixed(found, local[lists[t]]), heights[lists[t]])
                words += heights[lists[t]]
            words += 17
        shape[f] = found
        sizes[3 * f], sizes[3 * f + 1], sizes[3 * f + 2] = m, n, words
    return 0


@leaf
def _eight_places(words, at, found, count):
    """Write eight places, of which `count` are given; see `native.eight`."""
    together = count == 8 or found[0] % 8 == 0  # then there are eight places, and what stands at others is not used
    for lane in range(8):
        words[at + lane] = found[min(lane, count - 1)]
        together = together and (lane >= count or found[lane] == found[0] + lane)
    if together:
        words[at] = ~found[0]
    return at + 8


@leaf
def write_groups(
    groups: Group(Groups, (ints, ints)), contents: CONTENTS, nodes: NODES, touches: TOUCHES, lumps: LUMPS, sizes: ints, left: ints,
    sides: ints, at_panels: i8, program: Group(GroupProgram, (ints, ints, ints, ints)), found: ints,
) -> i8:  # fmt: skip
    """Write the program; return how many words it has, or -1 - k where the fronts of group k are not alike after all.

    `left` and `sides` become the places of what each front leaves and of its sides; what later ones leave takes the places of what
    has been taken. `found` is room for eight.
    """
    members, group_first = groups
    own, own_first, elements, of_front, lumps_of, child_first, children = contents
    starts, counts, lists = elements
    heights, width, full = nodes.heights, lumps.width, lumps.full
    touch_first, by_lump, touch_node, touch_stride = touches.first, touches.sorted, touches.node, touches.stride
    words, order, used, room = program
    many_lumps, at = len(width), 0
    panels = lefts = all_sides = block = 0
    fronts, many = len(room) - 4 * len(order) - ALONE, len(order)
    # of each front its group; of each group the fronts whose rest nobody has taken, its place and size, the next free one of its
    # size; of each size the first free one
    waiting, place, rests, following, free = fronts, fronts + many, fronts + 2 * many, fronts + 3 * many, fronts + 4 * many
    for i in range(ALONE):
        room[free + i] = -1
    for g in range(len(order)):
        order[g] = at
        begin, count = group_first[g], group_first[g + 1] - group_first[g]
        one = members[begin]
        m, n, size = sizes[3 * one], sizes[3 * one + 1], sizes[3 * one + 2]
        n_lumps, n_children = of_front[one + 1] - of_front[one], child_first[one + 1] - child_first[one]
        rest = n - m
        words[at], words[at + 1], words[at + 2], words[at + 3], words[at + 4] = m, n, count, n_lumps, n_children
        for lane in range(count):
            f = members[begin + lane]
            if (
                sizes[3 * f] != m or sizes[3 * f + 1] != n or sizes[3 * f + 2] != size
                or of_front[f + 1] - of_front[f] != n_lumps or child_first[f + 1] - child_first[f] != n_children
            ):  # fmt: skip
                return -1 - g
        if 0 < rest < ALONE and room[free + rest] >= 0:
            own_left = room[place + room[free + rest]]
            room[free + rest] = room[following + room[free + rest]]
        else:
            own_left = lefts
            lefts += 4 * rest * (rest + 1) if rest < ALONE else (rest * (rest + 1) // 2 + 7) // 8 * 8
        room[waiting + g], room[place + g], room[rests + g] = count, own_left, rest
        for lane in range(count):
            f = members[begin + lane]
            left[f], sides[f], room[f] = own_left + lane, all_sides + lane, g
            for i in range(n_children):
                other = room[children[child_first[f] + i]]
                room[waiting + other] -= 1
                if room[waiting + other] == 0 and room[rests + other] < ALONE:
                    size_of = free + room[rests + other]
                    room[following + other], room[size_of] = room[size_of], other
        words[at + 5], words[at + 6], words[at + 7] = at_panels + panels, own_left, all_sides
        panels += 8 * m * n if n < ALONE else m * ((n + 7) // 8 * 8)
        all_sides += 8 * n
        block = max(block, 8 * n, 8)
        for i in range(n_children if n < ALONE else 0):
            child = children[child_first[one] + i]
            rows = sizes[3 * child + 1] - sizes[3 * child]
            block = max(block, 4 * rows * (rows + 1))
        end, begin_words = at + size, at
        at += HEAD
        for which in range(2):
            many = own_first[one + 1] - own_first[one] if which == 0 else counts[many_lumps + one]
            for i in range(many):
                node = own[own_first[one] + i] if which == 0 else lists[starts[many_lumps + one] + i]
                high = heights[node]
                for row in range(high):
                    for lane in range(count):
                        f = members[begin + lane]
                        node = own[own_first[f] + i] if which == 0 else lists[starts[many_lumps + f] + i]
                        if heights[node] != high:
                            return -1 - g
                        found[lane] = nodes.row_place[node] + 8 * row
                    at = _eight_places(words, at, found, count)
        # where each row of this front is, for its children and lumps
        for i in range(n_lumps):
            lump = lumps_of[of_front[one] + i]
            many = touch_first[lump + 1] - touch_first[lump]
            words[at], words[at + 1], words[at + 2] = width[lump], full[lump], many
            for lane in range(count):
                other = lumps_of[of_front[members[begin + lane]] + i]
                alike = width[other] == width[lump] and full[other] == full[lump]
                if not alike or touch_first[other + 1] - touch_first[other] != many:
                    return -1 - g
                found[lane] = lumps.weights[other]
            at = _eight_places(words, at + 3, found, count)
            rows = 0
            for t in range(many):
                touch = by_lump[touch_first[lump] + t]
                high = heights[touch_node[touch]]
                rows += high
                here = _local_place(touch_node[touch], one, many_lumps, contents, heights)
                words[at], words[at + 1], words[at + 2] = touch_stride[touch], high, here
                for lane in range(count):
                    f = members[begin + lane]
                    other = by_lump[touch_first[lumps_of[of_front[f] + i]] + t]
                    node = touch_node[other]
                    if (
                        touch_stride[other] != touch_stride[touch] or heights[node] != high
                        or _local_place(node, f, many_lumps, contents, heights) != here
                    ):  # fmt: skip
                        return -1 - g
                    found[lane] = touches.place[other]
                at = _eight_places(words, at + 3, found, count)
            wide = width[lump]
            block = max(block, 8 * ((wide * wide if full[lump] else wide) + wide + rows * wide))
        for i in range(n_children):
            child = children[child_first[one] + i]
            rows = sizes[3 * child + 1] - sizes[3 * child]
            words[at] = rows
            for lane in range(count):
                other = children[child_first[members[begin + lane]] + i]
                if sizes[3 * other + 1] - sizes[3 * other] != rows:
                    return -1 - g
                found[lane] = left[other]
            at = _eight_places(words, at + 1, found, count)
            for lane in range(count):
                other = children[child_first[members[begin + lane]] + i]
                found[lane] = sides[other] + 8 * sizes[3 * other]
            at = _eight_places(words, at, found, count)
            for t in range(counts[many_lumps + child]):
                node = lists[starts[many_lumps + child] + t]
                here = _local_place(node, one, many_lumps, contents, heights)
                for lane in range(1, count):
                    f = members[begin + lane]
                    other = lists[starts[many_lumps + children[child_first[f] + i]] + t]
                    if _local_place(other, f, many_lumps, contents, heights) != here:
                        return -1 - g
                for row in range(heights[node]):
                    words[at] = here + row
                    at += 1
        if at != end:
            return -1 - g
        at = link_words(words, begin_words, at)
    used[0], used[1], used[2], used[3] = panels, lefts, all_sides, block
    return at


@leaf
def _local_place(node, f, many_lumps, contents, heights):
    """Row of a front at which a node begins."""
    own, own_first, lists = contents.own, contents.own_first, contents.elements.lists
    begin, at = contents.elements.starts[many_lumps + f], 0
    for i in range(own_first[f], own_first[f + 1]):
        if own[i] == node:
            return at
        at += heights[own[i]]
    for t in range(begin, begin + contents.elements.counts[many_lumps + f]):
        if lists[t] == node:
            return at
        at += heights[lists[t]]
    return -1
