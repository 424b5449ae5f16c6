"""supervise: each stop of the worker is a claim, and a supervisor decides whether it holds."""
