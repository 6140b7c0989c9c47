"""Pass finished work from one skill to another: select, validate, transfer, invoke, acknowledge."""
