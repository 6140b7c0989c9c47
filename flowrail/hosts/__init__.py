"""At home in the agent's host: what its hooks are told, and how they are set up.

`protocol` is what hosts say and want to hear, `glance` a quick look at sessions, `hooking` the road from the
one to the other, `judging` what is looked at twice before an agent is kept from anything.
"""
