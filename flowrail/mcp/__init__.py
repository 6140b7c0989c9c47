"""The commands as tools of a Model Context Protocol server: one process, many steps.

`tools` has the tools, `resources` what can be read and the prompts, `server` puts them on the SDK's server.
"""
