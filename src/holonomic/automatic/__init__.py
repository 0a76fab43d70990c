"""The automatic choice: what a state asks of a method, which methods suit it, and the words that tell why."""
