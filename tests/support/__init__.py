"""Test infrastructure: servers, terminals, fake agents, suites that several test files share."""
