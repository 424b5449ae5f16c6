"""Loops inside a person's own agent sessions: the stop hook and the wrapped agent."""
