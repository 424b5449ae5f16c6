"""Creating a loop: its settings, what can be known before it begins, and suggestions."""
