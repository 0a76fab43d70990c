"""What every formulation says of itself."""

from __future__ import annotations

from typing import ClassVar


class Formulation:
    """Base of all formulations.

    `gives` is what an integrator must take: "ode" or "residual".
    """

    gives: ClassVar[str]
    index: ClassVar[int]
    references: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))
