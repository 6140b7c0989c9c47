from flowrail.discovery.candidate import (
    Candidate as Candidate,
    Skipped as Skipped,
)
from flowrail.discovery.index import (
    Discovery as Discovery,
    discover as discover,
)
from flowrail.discovery.locations import (
    Root as Root,
    Scope as Scope,
    skill_roots as skill_roots,
)
from flowrail.discovery.queries import (
    discover_handoff_targets as discover_handoff_targets,
    find_workflows as find_workflows,
)
from flowrail.discovery.scores import (
    Query as Query,
    Ranked as Ranked,
    Score as Score,
    Synthesis as Synthesis,
    rank as rank,
    rank_for as rank_for,
    score_query as score_query,
    score_relevance as score_relevance,
    shortlist as shortlist,
)
