"""From three methods and tolerances to what runs: the choice, whether it fits, the plan, plans used again."""
