"""Plain data, YAML that is nearly in order, and YAML made to hurt."""


# Each just under the bound on bytes, so that it is the parsing that is tried.
