"""Setting up a machine: which agents there are, what is missing, MCP servers, the sandbox."""
