"""What has no derivative, or no meaning without numbers: functions refused with their reason and what to write."""

from __future__ import annotations

from .symbol import refusal

_ORDER = "which entry comes where would change from one moment to the next"
_PLACE = "which entry it is would change from one moment to the next"
_STEPS = "its value jumps, and between the jumps its derivative is zero"
_FACTORS = "its factors are not unique and have no derivative here"

REASONS = {
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition", "lexsort", "sort_complex", "unique", "median", "percentile",
                     "quantile", "nanmedian"),
                    (_ORDER, "Use np.minimum and np.maximum of the entries, or np.where.")),
    **dict.fromkeys(("argmax", "argmin", "nanargmax", "nanargmin", "nonzero", "flatnonzero", "argwhere", "searchsorted", "digitize",
                     "extract", "compress", "histogram", "bincount"),
                    (_PLACE, "Use np.max or np.min for the value itself, np.where(condition, a, b) or np.interp to choose by it.")),
    **dict.fromkeys(("round", "around", "rint", "fix", "round_"),
                    (_STEPS, "Leave it out, or use np.floor where steps are meant.")),
    **dict.fromkeys(("eig", "eigh", "eigvals", "eigvalsh", "svd", "qr", "cholesky", "matrix_rank", "cond", "slogdet", "expm"),
                    (_FACTORS, "Solve with np.linalg.solve, or write it out by entries.")),
    **dict.fromkeys(("lstsq", "pinv"),
                    ("it is made of singular values, which have no derivative here",
                     "Use np.linalg.solve(A.T @ A, A.T @ b) where the columns of A are independent.")),
}  # fmt: skip


def refuse_named(name: str, called: str) -> None:
    """Refuse a function of NumPy that is known to be impossible on symbols."""
    if name in REASONS:
        why, instead = REASONS[name]
        raise refusal(f"uses {called} on symbols: {why}", instead)


class _Rotation:
    """scipy's Rotation, which takes numbers only."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def made(*args, **kwargs):
            raise refusal(
                "uses scipy's Rotation, which takes numbers only",
                "Write the matrix out, np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) about one axis, or "
                "(w² - u·u) I + 2 u uᵀ + 2 w ũ of a quaternion (w, u).",
            )

        return made


ROTATION = _Rotation()
