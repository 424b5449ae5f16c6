"""Drives loops: in this process, in the background, on a server, on a machine of a cluster."""
