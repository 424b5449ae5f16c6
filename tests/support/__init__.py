"""Test infrastructure: servers, terminals, stand-ins for agents, suites that several test files share."""
