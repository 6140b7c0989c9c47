"""The same verbs as tools of a Model Context Protocol server: one process, many steps.

`tools` is the table of them, `verbs` what they do, `calls` turns printed commands into calls of tools, `shelf` has
what can be read, `wire` is the door to the SDK.
"""
