"""An MCP server: loops as tools for other agents and editors. Needs the extra `mcp`."""
