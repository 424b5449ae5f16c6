"""The engine: carries out what the core decides, for one loop: turns of agents, gates, waits, the end and its receipt."""
