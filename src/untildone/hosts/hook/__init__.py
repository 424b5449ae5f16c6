"""The stop hook: the loop inside a person's own agent session. The agent asks whether it may stop; the core answers."""
