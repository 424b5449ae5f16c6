"""What an agent, a mode and a gate implement, and how they are found by name."""
