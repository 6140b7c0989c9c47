"""A Model Context Protocol server that offers the commands as tools.

`tools` has the tools, `prompts` the prompts, `server` puts them on the SDK's server.
"""
