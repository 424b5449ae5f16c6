"""An agent's own terminal interface inside a pty: every byte goes through as it is, and the stop hook decides for this run."""
