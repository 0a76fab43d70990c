"""The shell command: turns names into objects, then calls what a script would call."""
