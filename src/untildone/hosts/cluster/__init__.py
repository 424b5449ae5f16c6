"""The host for many machines: Temporal assigns loops to machines, Postgres stores the journals, git carries the work."""
