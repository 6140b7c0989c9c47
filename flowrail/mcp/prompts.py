"""The prompts of the server: bundled skills."""

from __future__ import annotations

from mcp.server.mcpserver.prompts.base import Prompt, PromptArgument

from flowrail.command import Command
from flowrail.mcp.command_tools import call_of
from flowrail.operations.skills.list import ListedSkill, all_skills
from flowrail.skills.loader import Loader
from flowrail.text.safe_text import visible


def prompts() -> list[Prompt]:
    """Return the bundled skills, each as a prompt that starts it."""
    return [_prompt(skill) for skill in all_skills(Loader())]


def _prompt(skill: ListedSkill) -> Prompt:
    name, about = skill.name, visible(skill.description)
    arguments = [
        PromptArgument(name=param, description=visible(arg.description or ""), required=arg.required)
        for param, arg in skill.params.items()
    ]

    async def text(**params: str) -> str:
        call = call_of(Command("step", name, new=True, params=params), "")
        return visible(
            f"Work through the skill `{name}` to its end.\n\n{about}\n\n"
            f"Start with the tool call\n\n    {call}\n\n"
            "Each answer has one step, and the calls for what comes next."
        )

    return Prompt(name=name, title=None, description=about, arguments=arguments, fn=text, context_kwarg=None)
