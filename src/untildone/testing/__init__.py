"""Shipped for tests and demos: agents and model APIs that follow a script."""
