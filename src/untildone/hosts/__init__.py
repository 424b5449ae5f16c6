"""Hosts carry out what the core decides: processes, checks, the workspace, the engine."""
