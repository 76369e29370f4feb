"""The library for agents: MCP on stdio and over HTTP."""
