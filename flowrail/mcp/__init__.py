"""A Model Context Protocol server that offers the commands as tools.

`tools` has the tools, `resources` what can be read and the prompts, `server` puts them on the SDK's server.
"""
