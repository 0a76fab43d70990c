"""The decision guide: which case a state is, which methods suit it and which do not, with the equation behind it.

The cases are those of [ascher-petzold-1993] Sec. 4 and 5; the numbers at which they begin were measured here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..loop.automatic_looks import DECAYS, FAR_BEYOND
from ..model.dae import Dae
from .decide import LARGE
from .indicators import Indicators
from .rates import RAPID as FAR_TOO_RAPID
from .rates import STRAIGHT, varies
from .stiff_forms import SMALL

AP = "[ascher-petzold-1993]"
NONSTIFF, STIFF, VARIABLE = "nonstiff", "stiff", "variable-coefficient stiff"
OSCILLATING, RAPID = "oscillating", "rapid constraints"
WORDS = {
    NONSTIFF: "nothing is much faster than the motion (nonstiff)",
    STIFF: "fast motion that decays (stiff)",
    VARIABLE: "fast motion that decays, and constraints whose change is part of it (variable-coefficient stiff)",
    OSCILLATING: "a vibration far faster than the motion (oscillating)",
    RAPID: "constraints that vary faster than the motion (rapid constraints)",
}


@dataclass(frozen=True)
class Advice:
    """One method, why, and where that is shown."""

    method: str
    reason: str
    source: str

    def __str__(self) -> str:
        return f"{self.method}: {self.reason} ({self.source})"


def words_of(kind: str) -> str:
    """Return a case in plain words."""
    return WORDS[kind]


def kind_of(found: Indicators) -> str:
    """Return which case a state is."""
    fastest = found.fastest
    stiff = abs(fastest) * found.step >= FAR_BEYOND and fastest.real < -DECAYS * abs(fastest)
    if stiff:
        return VARIABLE if varies(found) else STIFF
    if found.times("turning") >= FAR_BEYOND / 5:
        return RAPID
    if found.times("oscillating") >= FAR_BEYOND:
        return OSCILLATING
    return NONSTIFF


def advice(model, found: Indicators, kind: str) -> tuple[tuple[Advice, ...], tuple[Advice, ...]]:
    """Return (recommended, discouraged), the best and the worst first."""
    constrained = found.rows > 0
    straight = found.fastest.real < -STRAIGHT * abs(found.fastest) and model.nq + model.nv > LARGE
    implicit = "BDF()" if straight or kind == RAPID else "Radau()"
    explicit = Advice(
        "Index1() + DOP853()" + (" + Projection()" if constrained else ""),
        "the fewest evaluations for smooth motion" + (", every step ends on the constraints" if constrained else ""),
        f"{AP} (4.18) to (4.22)" if constrained else "[HNW93] Sec. II.10",
    )
    do, avoid = [], []
    if kind == NONSTIFF:
        do.append(explicit)
    elif not constrained:
        do.append(Advice("Radau()" if kind == OSCILLATING else implicit, "the step follows accuracy", "[HW96] Sec. IV.8"))
    elif kind == STIFF:
        do.append(_projected(model, found, implicit))
        if not isinstance(model.system, Dae):
            form = Advice(
                f"Index2() + {implicit} + Projection()", "the fewest equations, and none is differentiated", "[HW96] Sec. VII.4"
            )
            do.insert(0 if model.nv > SMALL else 1, form)
    elif kind in (VARIABLE, RAPID):
        if kind == RAPID and found.times("turning") < FAR_TOO_RAPID:
            do.append(replace(explicit, reason="steps that follow the constraints are still few"))
        do.append(_projected(model, found, implicit))
        if not isinstance(model.system, Dae):
            do.append(Advice(f"StateSpace() + {implicit}", "only the free motion is integrated", f"{AP} Sec. 3"))
    elif kind == OSCILLATING:
        do += [explicit, Advice("Radau()", "if the vibration is not in the motion, or need not be", "[HW96] Sec. IV.8")]
    if kind in (STIFF, VARIABLE):
        n = abs(found.fastest) * found.step / 6
        avoid.append(Advice("explicit integrators", f"about {n:.0f} steps where accuracy asks for one", "[HW96] Sec. IV.2"))
    if kind == VARIABLE and not isinstance(model.system, Dae):
        avoid.append(Advice("GGL(), Index2(), StrangenessFree()", "they treat F C' explicitly", f"{AP} Tables 4.3 to 4.8"))
    if constrained and (found.angle or 0.0) > 45.0:
        avoid.append(Advice('D="mass", metric="mass"', "corrections along M⁻¹Gᵀ are long here", f"{AP} (4.22), Table 4.3"))
    if constrained:
        gain = "a gain large enough against drift makes the equations stiff"
        if kind in (VARIABLE, RAPID):
            gain = "unstable where the constraint changes fast, whatever the gain"
        avoid.append(Advice("Baumgarte with a large gain", gain, f"{AP} Sec. 3 and Table 4.1"))
        avoid.append(Advice("no stabilization", "the constraints drift polynomially", f"{AP} Sec. 3"))
    return tuple(do if model.dense else _offered(do, model, implicit)), tuple(avoid)


def _offered(do: list[Advice], model, implicit: str) -> list[Advice]:
    """Of what is recommended what a model of operators takes."""
    known = ["Index1", *(kind.__name__ for kind in model.formulations)]
    found = [each for each in do if each.method.partition("(")[0] in known]
    if found or len(known) == 1:
        return found
    return [Advice(f"{known[1]}() + {implicit} + Projection()", "the fewest equations that are there", "[HW96] Sec. VII.4")]


def _projected(model, found: Indicators, implicit: str) -> Advice:
    if found.times("turning") > 1.0 and not isinstance(model.system, Dae):
        reason = "both levels hold, and v does not pay for errors of q where the constraints turn"
        return Advice(f'ProjectedInvariants("Pc") + {implicit}', reason, f"{AP} (4.17), Table 4.9")
    reason = "what varies fast stays in the implicit part"
    return Advice(f'ProjectedInvariants("Pa") + {implicit} + Projection()', reason, f"{AP} (4.7), (4.14)")
