"""Chain of n massless links with point masses at their ends; the double pendulum is n = 2."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..model.system import System
from .problem import Problem, Reference


def chain(n: int = 4, *, l: float | None = None, m: float | None = None, g: float = 9.81, t_end: float = 1.0) -> Problem:
    """Return a chain of n links, pinned at the origin and released from the horizontal.

    q = (x1, y1, ..., xn, yn), M = m I, one constraint |r_i - r_{i-1}|² = l² per link. By default the whole
    chain is 1 m long and weighs 1 kg. Outputs: 'tip' and 'tension', the pull in each link in N.

    Parameters
    ----------
    n : int
        Number of links.
    l, m : float, optional
        Length in m of one link and mass in kg at its end; default 1/n.
    g : float
        Gravity in m/s².
    t_end : float
        End in seconds.
    """
    if n < 1:
        raise BadArgument(f"A chain needs at least one link, not {n}.")
    l, m = 1 / n if l is None else l, 1 / n if m is None else m
    published = (l, m, g) == (1 / n, 1 / n, 9.81)
    return Problem(
        name="chain",
        title=f"Chain of {n} links",
        system=links(n, l, m, g),
        t_end=t_end,
        q0=straight(n, l),
        v0=(0.0,) * (2 * n),
        references=CHAIN_REFERENCES.get(n, ()) if published else (),
        source="own problem, for scaling with n",
        notes="The tip converges as n grows; the steps needed at a fixed tolerance grow about as n.",
    )


def double_pendulum(*, l: float = 1.0, m: float = 1.0, g: float = 9.81, t_end: float = 5.0) -> Problem:
    """Return the double pendulum with equal links and masses, released from the horizontal.

    Parameters
    ----------
    l, m, g : float
        Link length in m, mass in kg, gravity in m/s².
    t_end : float
        End in seconds.
    """
    published = (l, m, g) == (1.0, 1.0, 9.81)
    return Problem(
        name="double-pendulum",
        title="Double pendulum",
        system=links(2, l, m, g),
        t_end=t_end,
        q0=straight(2, l),
        v0=(0.0,) * 4,
        references=DOUBLE_REFERENCES if published else (),
        source="own problem, chain with n = 2",
        notes="Chaotic in the long run; the references stop where their digits are still sure.",
    )


def straight(n, l):
    """Return the joints of a chain stretched along the x axis."""
    return tuple(x for i in range(1, n + 1) for x in (i * l, 0.0))


def links(n, l, m, g) -> System:
    """Return the system of n links."""
    return System(
        mass=lambda p: p.m * np.eye(2 * n),
        potential=lambda q, p: p.m * p.g * sum(q[1::2]),
        constraint={f"link {i + 1}": link(i) for i in range(n)},
        drawing=lambda q: {"chain": [(0, 0), *np.reshape(q, (-1, 2))], "tip": [q[-2:]]},
        coordinates=[f"{axis}{i + 1}" for i in range(n) for axis in "xy"],
        outputs={"tip": lambda q: np.array([q[2 * n - 2], q[2 * n - 1]]), "tension": lambda lam, p: 2 * p.l * lam},
        params={"m": float(m), "l": float(l), "g": float(g)},
    )


def link(i):
    """Return the constraint of link i, counted from zero."""
    if i == 0:
        return lambda q, p: q[0] ** 2 + q[1] ** 2 - p.l**2
    k = 2 * i
    return lambda q, p: (q[k] - q[k - 2]) ** 2 + (q[k + 1] - q[k - 1]) ** 2 - p.l**2


ANGLES = "own extrapolation runs in 80-bit arithmetic, in link angles, at two step sizes"
BOTH = "own runs in link angles and in Cartesian coordinates with multipliers"


def tip_only(n, q, v):
    """Return a reference that knows only the last mass."""
    last = (2 * n - 2, 2 * n - 1)
    return Reference(1.0, q=q, v=v, digits={"q": 12, "v": 12}, source=BOTH, components=last)


DOUBLE_REFERENCES = (
    Reference(
        1.0,
        q=(-0.58516839199887511, -0.81091180346906459, -1.4448188499434758, -1.3217944613814645),
        v=(-3.1806228021604614, 2.2951940306368919, -3.8463536098580945, 3.4154038965259582),
        lam=(20.818039436294906, 9.9729298482545026),
        digits={"q": 15, "v": 15, "lam": 14},
        source=ANGLES,
    ),
    Reference(
        2.0,
        q=(-0.46441286869951385, -0.88561881607511485, -1.4341248174642765, -1.1298701956471583),
        v=(2.7146768995930748, -1.4235592826715546, 3.4350405438200183, -4.2835031425036969),
        lam=(13.489181708643581, 6.670901799900734),
        digits={"q": 15, "v": 15, "lam": 14},
        source=ANGLES,
    ),
    Reference(
        5.0,
        q=(-0.58686920981627099, -0.80968174647180092, -1.5507784694704425, -1.0759127348126531),
        v=(1.7209046070034419, -1.2473369089548372, 2.7543836794925776, -4.9891253981133045),
        lam=(13.202418882577841, 8.9244667451862273),
        digits={"q": 15, "v": 15, "lam": 14},
        source=ANGLES,
    ),
)

# n: position and velocity of the tip at t = 1
TIPS = {
    8: ((-0.9184856701215675, -0.14349145026672128), (0.12792766576102502, -0.008605829967781682)),
    16: ((-0.9096565957310706, -0.15990540475131626), (0.1492476710819043, -0.12356434370108262)),
    32: ((-0.9076570415266675, -0.17001065974076207), (0.14935840865161557, -0.19225783274753802)),
    64: ((-0.9073341801591046, -0.17690452875276258), (0.149545756444469, -0.23137858946820666)),
}

CHAIN_REFERENCES = {
    4: (
        Reference(
            1.0,
            q=(
                -0.24812392032843402,
                0.030569922486799449,
                -0.49623850741271962,
                0.061215504158460647,
                -0.74153838084425248,
                0.012966441012385349,
                -0.95460053254276093,
                -0.117817806944323,
            ),
            v=(
                -0.0509910428810117,
                -0.41387404455262439,
                -0.00854005623902706,
                -0.0701798332681173,
                -0.05534419333609813,
                0.16777398712471535,
                -0.07588217511077015,
                0.20123265402705403,
            ),
            lam=(-0.1088818734338403, 0.14311638999396069, 0.1634062100502299, 0.0781125734717892),
            digits={"q": 15, "v": 15, "lam": 14},
            source=ANGLES,
        ),
    ),
    **{n: (tip_only(n, q, v),) for n, (q, v) in TIPS.items()},
}
