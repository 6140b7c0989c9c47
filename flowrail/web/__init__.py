"""The local web page: what sessions do now, and what happened in them. Needs the extra `flowrail[web]`."""
