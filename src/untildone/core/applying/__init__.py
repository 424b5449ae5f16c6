"""What events change, by their subject: controls, sessions, turns, verdicts. `core.apply` calls these."""
