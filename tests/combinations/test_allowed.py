"""What is allowed and what is refused stays as it was read through."""

from allowed import FILE, kept, table


def test_no_combination_is_allowed_or_refused_by_mistake():
    """After a change that is meant: python tests/combinations/allowed.py, and read the difference."""
    was, now = FILE.read_text(encoding="utf-8").splitlines(), table().splitlines()
    changed = [f"- {a}\n+ {b}" for a, b in zip(was, now, strict=False) if a != b]
    assert was == now, "\n".join([was[0], *changed[:20]])


def test_every_integrator_and_every_formulation_is_allowed_somewhere():
    """A refusal of all of a method's combinations would be a mistake even in the file."""
    methods = {name for key in kept() for name in key[1:3]}
    somewhere = {name for key, allowed in kept().items() if allowed for name in key[1:3]}
    assert methods == somewhere
