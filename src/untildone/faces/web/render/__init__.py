"""Text of agents, gates and git as safe HTML. Each module is pure: text in, escaped markup out."""
