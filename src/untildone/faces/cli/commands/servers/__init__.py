"""Processes that serve others: the server, its tokens, MCP, ACP, a machine of a cluster."""
