"""Loops inside the sessions of agents and editors: the stop hook, the wrapped agent, conversations of an editor."""
