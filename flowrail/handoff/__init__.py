"""Work passes from one skill to the next, checked on both sides, once, and on record.

    document ─▶ models ─▶ checking ─▶ payload          adapters: one version to another
    building: a session as a payload                   integrity, chain: the rules that are counted
    selection ─▶ guards ─▶ lifecycle (the machine) ─▶ sending, receiving (arriving) ─▶ journal ─▶ audit

`problems` holds what a handoff can be refused for, `health`, `transfer` and `invocation` one phase each.
"""
