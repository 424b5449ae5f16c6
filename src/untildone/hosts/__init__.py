"""Hosts: what drives a loop: the fleet of a server, a detached runner, the stop hook, a wrapped session, a cluster."""
