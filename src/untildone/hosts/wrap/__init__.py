"""Runs an agent's own terminal interface in a pty. All bytes pass unchanged; the stop hook drives the loops of the run."""
