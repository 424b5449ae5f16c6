"""Agents that do their work, in projects of many shapes: each must be `verified`, and none warned of without a reason."""
