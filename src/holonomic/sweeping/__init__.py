"""Many runs of one system: which members there are, what runs them, where the results go.

`sweep` states a `Job`; an engine (threads, ...) takes stretches of members and gives back a `Chunk` for each;
chunks are gathered into an `Ensemble`.
"""
