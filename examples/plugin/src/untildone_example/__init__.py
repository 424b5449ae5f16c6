"""An agent, a mode and a gate for untildone. Each of the three modules is a plugin of its own."""
