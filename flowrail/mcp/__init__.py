"""A Model Context Protocol server that offers the commands as tools.

`command_tools` has the tools, `tool_server` puts them on the SDK's server.
"""
