"""The host for many machines: Temporal says who drives a loop, Postgres keeps its journal, git carries its work."""
