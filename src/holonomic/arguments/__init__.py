"""The arguments of simulate and of the calls like it, read once: the start, what is asked of the run, and wrong names.

`GivenStart` and `Asked` hold what was given under the names and with the defaults that all calls share.
"""

from .asked import (
    Asked,
    absolute_tolerance,
    check_step,
    choice_at_start,
    constraint_tolerance,
    given_again,
    lowered,
    refuse_beside_names,
    refuse_in_pairs,
    relative_tolerance,
)
from .budget import Budget, in_bytes
from .given_inputs import controllers_by_name, given_controllers, given_inputs, inputs_of_run, mapped, members_of_inputs
from .names import refuse_unknown
from .start import (
    Assembling,
    GivenStart,
    Opened,
    Posed,
    as_code,
    brought,
    check_kind,
    check_multipliers,
    free_multipliers,
    missed_multipliers,
    opened,
)

__all__ = [
    "Asked",
    "Assembling",
    "Budget",
    "GivenStart",
    "Opened",
    "Posed",
    "absolute_tolerance",
    "as_code",
    "brought",
    "check_kind",
    "check_multipliers",
    "check_step",
    "choice_at_start",
    "constraint_tolerance",
    "controllers_by_name",
    "free_multipliers",
    "given_again",
    "given_controllers",
    "given_inputs",
    "in_bytes",
    "inputs_of_run",
    "lowered",
    "mapped",
    "members_of_inputs",
    "missed_multipliers",
    "opened",
    "refuse_beside_names",
    "refuse_in_pairs",
    "refuse_unknown",
    "relative_tolerance",
]
