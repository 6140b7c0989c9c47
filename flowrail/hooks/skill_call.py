"""The host's call of a skill opens or resumes the session of its workflow."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.errors import FlowError
from flowrail.hooks.call import Call
from flowrail.operations.environment import Environment
from flowrail.operations.steps import current_step, session_workflow
from flowrail.skills.catalog import UnknownSkillError
from flowrail.text.safe_text import in_quotes


def answer(event: str, call: Call) -> Mapping[str, object]:
    """Return the answer that shows the session of the skill, or an empty one."""
    said = _opened_session(call) if call.agent is None else ""
    return call.host.added_context(event, said) if said else {}


def _opened_session(call: Call) -> str:
    """Return what the agent reads about the session of the skill, or an empty text for a skill without a workflow."""
    named = call.tool_input.get("skill") or call.tool_input.get("command") or ""
    skill = str(named).rpartition(":")[2]  # a plugin's skill has the name of the plugin before it
    environment = Environment(conversation=call.conversation or "", cwd=call.cwd)
    try:
        shown = current_step.step_again(environment, skill)
    except UnknownSkillError:
        return ""
    except FlowError:  # for example a parameter without a value
        try:
            start = in_quotes(str(session_workflow.start_command(environment, skill)))
        except FlowError:
            return ""
        return f"Skill `{in_quotes(skill)}` has a workflow. Start it now: `{start}`. It prints one step at a time."
    resume = in_quotes(str(environment.command("resume", shown.session)))
    return (
        f"Skill `{in_quotes(skill)}` has a workflow, and its session `{in_quotes(shown.session)}` is open. "
        f"Run `{resume}` now. It prints the step; report each step to get the next one."
    )
