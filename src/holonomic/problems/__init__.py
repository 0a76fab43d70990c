"""Problems that bring their start, their end and a reference answer."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial

from ..errors import BadArgument
from .ascher_petzold import heterogeneous_masses, rapid_constraint, rapid_pair
from .car_axis import car_axis
from .chain import chain, double_pendulum
from .delta_robot import delta_robot
from .double_wishbone import double_wishbone
from .four_bar import four_bar, four_bar_spatial
from .four_bars import four_bars
from .from_bodies import four_bars_from_bodies, pendulum_from_bodies, seven_body_from_bodies
from .heavy_top import heavy_top
from .inline_engine import inline_engine
from .jansen import jansen
from .jansen_walker import jansen_walker
from .kepler import kepler
from .peaucellier import peaucellier
from .pendulum import pendulum, pendulum_a01
from .problem import Problem, Reference
from .rolling_disk import rolling_disk
from .scotch_yoke import scotch_yoke
from .seven_body import seven_body, seven_body_a03
from .slider_crank import slider_crank
from .slider_crank_spring import slider_crank_spring
from .small_examples import cubic_time, index2_pair, leaving_circle, unit_circle
from .spring_pendulum import spring_pendulum
from .stewart_platform import stewart_platform
from .suspension import suspension
from .two_link_arm import two_link_arm
from .wheelset import wheelset, wheelset_contacts

__all__ = [
    "Problem",
    "Reference",
    "car_axis",
    "catalogue",
    "chain",
    "cubic_time",
    "delta_robot",
    "double_pendulum",
    "double_wishbone",
    "four_bar",
    "four_bar_spatial",
    "four_bars",
    "four_bars_from_bodies",
    "get",
    "heavy_top",
    "heterogeneous_masses",
    "index2_pair",
    "inline_engine",
    "jansen",
    "jansen_walker",
    "kepler",
    "leaving_circle",
    "peaucellier",
    "pendulum",
    "pendulum_a01",
    "pendulum_from_bodies",
    "rapid_constraint",
    "rapid_pair",
    "rolling_disk",
    "scotch_yoke",
    "seven_body",
    "seven_body_a03",
    "seven_body_from_bodies",
    "slider_crank",
    "slider_crank_spring",
    "spring_pendulum",
    "stewart_platform",
    "suspension",
    "two_link_arm",
    "unit_circle",
    "wheelset",
    "wheelset_contacts",
]


def catalogue() -> dict[str, Callable[..., Problem]]:
    """Return all problems: the name used in the shell -> the function that makes the problem."""
    return {
        "pendulum": pendulum,
        "pendulum-a01": pendulum_a01,
        "double-pendulum": double_pendulum,
        "chain": chain,
        "spring-pendulum": spring_pendulum,
        "suspension": suspension,
        "two-link-arm": two_link_arm,
        "two-link-arm-II": partial(two_link_arm, "II"),
        "slider-crank": slider_crank,
        "slider-crank-spring": slider_crank_spring,
        "four-bars": four_bars,
        "seven-body": seven_body,
        "seven-body-a03": seven_body_a03,
        "car-axis": car_axis,
        "jansen": jansen,
        "jansen-walker": jansen_walker,
        "four-bar": four_bar,
        "four-bar-spatial": four_bar_spatial,
        "scotch-yoke": scotch_yoke,
        "peaucellier": peaucellier,
        "inline-engine": inline_engine,
        "heavy-top": heavy_top,
        "double-wishbone": double_wishbone,
        "stewart-platform": stewart_platform,
        "delta-robot": delta_robot,
        "rolling-disk": rolling_disk,
        "pendulum-from-bodies": pendulum_from_bodies,
        "four-bars-from-bodies": four_bars_from_bodies,
        "seven-body-from-bodies": seven_body_from_bodies,
        "kepler": kepler,
        "index-2-pair": index2_pair,
        "rapid-pair": rapid_pair,
        "heterogeneous-masses": heterogeneous_masses,
        "rapid-constraint": rapid_constraint,
        "unit-circle": unit_circle,
        "wheelset": wheelset,
        "wheelset-contacts": wheelset_contacts,
        "cubic-time": cubic_time,
        "leaving-circle": leaving_circle,
    }


def get(name: str, **params) -> Problem:
    """Return a problem by name; case and the choice of - or _ do not matter.

    Parameters
    ----------
    name : str
        A key of `catalogue()`.
    **params
        Passed on to the function that makes it.
    """
    makers = {key.lower(): make for key, make in catalogue().items()}
    wanted = name.lower().replace("_", "-")
    if wanted not in makers:
        near = difflib.get_close_matches(wanted, makers, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(catalogue())}."
        raise BadArgument(f"There is no problem '{name}'. {hint}")
    return makers[wanted](**params)
