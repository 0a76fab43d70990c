"""From the user's functions to compiled ones."""
