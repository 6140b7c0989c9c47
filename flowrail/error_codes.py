"""The codes of errors: the exit status, when an error occurs, and what to do.

`flow explain CODE` and the reference print these rows. A code never changes its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowrail.outcome import DONE, LISTED


@dataclass(frozen=True)
class ErrorCode:
    """What a code of an error means."""

    exit_status: int
    when: str
    do: str


_TABLE = (
    """\
BROKEN_MODULE | 1 | A module with a workflow could not be imported, or contains an unexpected workflow. | Fix the module named in the message.
CODE_NOT_KEPT | 1 | The stored workflow of a session needs Python functions, which are not stored with it. | Install the skill again, with its functions.
FAILED | 1 | The command failed for a reason without its own code. | Follow the hint.
HANDLER_FAILED | 1 | A Python function or a rule of the workflow failed; the session is unchanged. | Fix the function at the line given in the message, then report again.
HANDLER_TIMEOUT | 1 | A Python function of the workflow took too long; the session is unchanged. | Make the function faster, or let the agent do the work in a step.
INVALID_WORKFLOW | 1 | The workflow has errors; `findings` lists all of them. | Fix the errors, then run `flow check SKILL`.
NOT_LOADED | 1 | The file raised an error, or did not define a workflow. | Fix the file at the line given in the message.
PICTURE_OUTDATED | 1 | A diagram file does not match the workflow. | Draw the diagram again: `flow diagram SKILL`.
BAD_ANSWER | 2 | An answer does not fit any open question. | Answer with one of the question's options, or in the user's own words if the question allows it.
BAD_FINDING | 2 | The finding cannot be recorded, for example because it has no text. | Correct the finding, then record it again.
BAD_QUESTIONS | 2 | The text does not contain valid questions; `details` lists the problems. | Correct the questions, then ask again.
BAD_RECORD | 2 | An invalid record number was requested on the `flow ui` page. | Follow a link on the page.
BAD_VALUES | 2 | Parameters or facts are missing, unknown or invalid; the error lists all of them. | Correct all of them, then run the command again.
DOCUMENT | 2 | A file cannot be read; `place` is its path, with a line if known. | Fix the file.
EXTRA_MISSING | 2 | The command needs an extra (an optional part of flowrail) that is not installed. | Install the extra with the command in the hint.
FILE_MISSING | 2 | The file does not exist. | Check the path.
FILE_NOT_REGULAR | 2 | The path is a link, directory, pipe, socket or device. | Name a plain file.
FILE_NOT_TEXT | 2 | The bytes are not UTF-8. | Save the file as UTF-8.
FILE_TOO_LARGE | 2 | The file is larger than its limit. | Make it smaller.
FILE_UNREADABLE | 2 | The system refuses to read the file. | Check its permissions.
GIT_FAILED | 2 | A git command failed, or the folder is not in a git repository. | Run the command in a git repository.
JSON_REFUSED | 2 | The text is JSON, but uses something that flowrail does not accept. | Change the text as the message says.
JSON_SYNTAX | 2 | The text is not JSON. | Fix the line named in the message.
NOTE_TOO_LONG | 2 | A note is longer than a session allows. | Write the text to a file of the session, and name the file in the note.
NOT_A_NAME | 2 | A skill cannot have this name. | Use lower-case words with hyphens.
NOT_INSTALLED | 2 | The location has no skill that flowrail wrote. | Install it first: `flow setup SKILL`.
NO_EXAMPLE | 2 | A required value has no choices, bounds, default or example, so no value can be tried. | Give the value an `example`.
PICTURE_TOO_LARGE | 2 | The diagram has too many arrows running past its steps, or too many pixels. | Draw it as Mermaid or text.
REGISTRY_INVALID | 2 | The registry has errors; `problems` lists all of them. | Fix the errors, then run `flow registry sync` again.
SETTINGS_UNUSABLE | 2 | The host's settings are not plain JSON, or have a different value where hooks belong. | Fix the settings, then run `flow setup` again.
TOO_MANY_DISPATCHES | 2 | The list has more items than a step may dispatch. | Combine several items into one.
UNKNOWN_CHECK | 2 | The current step has no such check. | Use an id that the step lists.
UNKNOWN_CODE | 2 | No finding and no error has this code. | List the codes: `flow explain`.
UNKNOWN_COMMAND | 2 | The command does not exist. | List the commands: `flow --help`.
UNKNOWN_DISPATCH | 2 | The session's step has no such dispatch. | Use a number that the step lists.
UNKNOWN_FINDING | 2 | The session has no such finding. | List the findings: `flow finding list`.
UNKNOWN_HANDOFF | 2 | The store has no handoff with that id. | List the handoffs: `flow handoff status`.
"""
    f"""\
UNKNOWN_OUTCOME | 2 | The reported word is not an outcome. | Report {LISTED}, or `{DONE}` if the step decides.
"""
    """\
UNKNOWN_RESOURCE | 2 | No resource, convention, workflow or step has that name. | Fix the name, or write the file.
UNKNOWN_REVISION | 2 | The session has never been at that revision. | Use a revision that `flow sessions ID` lists.
UNKNOWN_SESSION | 2 | The store has no session with that id. | List the sessions: `flow sessions`.
UNKNOWN_SKILL | 2 | No location has a skill of that name. | List the skills: `flow list`.
UNKNOWN_STEP | 2 | The workflow has no step with that id. | List the steps: `flow show SKILL`.
UNKNOWN_STEP_COMMAND | 2 | The current step declares no such command. | Run a command that the step lists.
USAGE | 2 | An unknown name, or a wrong value. | Follow the hint.
WRONG_TOTAL | 2 | The number of steps differs from what the caller expects. | Correct the number, or leave it out.
WRONG_USE | 2 | An option, argument or value that the command does not accept. | Look at the command's `--help`.
YAML_REFUSED | 2 | The text is YAML, but uses something that flowrail does not accept. | Change the text as the message says.
YAML_SYNTAX | 2 | The text is not YAML. | Fix the line named in the message.
ANSWER_LOST | 3 | The command's output could not be written, but its work was stored. | Print the current step again: `flow resume`.
DATABASE_FAILED | 3 | The database did not respond, or reported an error. | Check the address and the account, then run the command again.
DIRECTORY_NOT_PRIVATE | 3 | The path is not a directory, or it belongs to another user. | Use a folder of your own.
JOURNAL_DAMAGED | 3 | A journal (the file with the records of a session or handoff) was changed or damaged; the message says where. | Restore it from a backup, or start a new session.
JOURNAL_FULL | 3 | The journal has no room for another record. | End the session, and continue in a new one.
PAYLOAD_EXISTS | 3 | Another file has the payload's name. | Move the file away, then run the command again.
SCHEMA_DIFFERS | 3 | The database has no flowrail tables. | Create them: `flow store init`.
STORAGE | 3 | The disk or the store failed; nothing was recorded. | Fix the cause given in the message, then run the command again.
SUPERVISOR_FAILED | 3 | A step's command was not started, because the process that supervises it failed to start. | Fix the cause given in the message, then run the command again.
TOO_LARGE | 3 | A record, a journal or a text would grow past its limit. | Put long texts into files.
WRITE_FAILED | 3 | A write failed, and the change was not recorded. | Make room or fix the permissions, then run the command again.
ARGUMENT_REFUSED | 4 | A value cannot be used as a command's argument. | Use another value, or write `--` before the argument in the workflow.
CALL_DENIED | 4 | A skill's guard, or the step's `forbids`, denies the command. | Follow the skill that guards it: `flow step SKILL`.
CHANGED_MEANWHILE | 4 | Another process added a record at the same time. | Run the command again.
COMMAND_NOT_REPEATED | 4 | A run-once command failed, or its result is unknown: the user decides whether it runs again. | Ask the user, as the step says.
COMMAND_RUNNING | 4 | The session cannot advance while a command runs. | Wait for the command: `flow run NAME`.
CONFLICT | 4 | The request does not fit the current state. | Look at the state: `flow sessions ID`.
DIFFERENT_SESSION | 4 | The other store has a session or handoff with that id but different records. | Copy to an empty store.
DISPATCH_GONE | 4 | The child session was replaced, or its parent has left the step. | Stop working on the dispatch.
ENDED_THERE | 4 | The session had ended at that revision, so it cannot continue from there. | Rewind to an earlier revision.
EVIDENCE_MISSING | 4 | The evidence for the reported outcome is missing; `results` has the result of each check of the step. | Provide each missing item, then report again.
EXISTS | 4 | A file or folder with this name already exists. | Use another name, or remove the existing one.
GATE_DECIDES | 4 | An outcome was reported for a review gate. Such a step uses the recorded findings to decide. | Report `done`.
JOIN_PENDING | 4 | The step waits for sub-agents that have not finished. | Wait for the sub-agents, or launch them again as the step says.
LOCKED | 4 | Another process held the lock until the wait timed out. | Run the command again.
NOT_A_FOLDER | 4 | There is a link or a file where the skill's folder should be. | Remove it, then run the command again.
NOT_WAITING | 4 | No question is open. | Look at the step: `flow resume`.
NO_OPEN_SESSION | 4 | No session is open, or the open ones belong to other conversations. | Start one: `flow step SKILL`.
ORDER_BROKEN | 4 | A report or a command would break an order rule of the workflow. The session is unchanged. | Do what is missing first: `flow resume ID` shows the step.
OTHER_CONVERSATION | 4 | The session belongs to another conversation. | Continue it with `--take-over`, if the user agrees.
OUTCOME_NOT_OPEN | 4 | The current step does not accept the reported outcome. | Report an outcome that the step lists.
PERSON_NEEDED | 4 | Only a person can make this decision. | The user decides at a terminal of their own, or on the `flow ui` page.
PHASE_NOT_OPEN | 4 | The event is not allowed in the handoff's current phase. | Look at the handoff: `flow handoff status ID`.
PLACE_ELSEWHERE | 4 | The project's skills folder is a link to a folder outside the project. | Replace the link with a folder.
QUESTION_OPEN | 4 | The user must answer the step's question first. | Ask the user, then run `flow answer`. If the user is away, end your turn: the question waits, and `flow resume` prints it again.
REGISTRY_CHANGED | 4 | The registry changed while a sync was planned. | Run `flow registry sync` again.
REVIEW_PENDING | 4 | The gate's review has not ended, so the gate cannot decide. | End the review first.
REVISION_CONFLICT | 4 | The session advanced after the command was printed. | Print the current step: `flow resume`.
ROUND_CLOSED | 4 | The review has ended and its gate has not decided yet; the finding cannot be withdrawn now. | Report `done` at the gate first.
SESSION_ENDED | 4 | The session has ended and accepts no more reports. | Start a new one: `flow step SKILL --new`.
SESSION_NOT_OPEN | 4 | The session has ended, so a fleet cannot run it. | Name an open session.
SEVERAL_OPEN | 4 | Several sessions are open and the command names none. | Name one with `--session ID`.
TOO_DEEP | 4 | Sub-agents are nested deeper than the limit. | Do the work in this session.
WORKER_REPLACED | 4 | The worker sent no heartbeat for too long, so other workers have taken over its jobs. | Start the worker again.
DEFINITION_CHANGED | 5 | The workflow changed during the session, and the user must decide what to do. | Ask the user, then run `flow session migrate ID`.
ALREADY_RECEIVED | 6 | The payload has already been received. | Continue the session that received it.
HANDOFF_CLOSED | 6 | The handoff has ended, or has not been sent yet. | Look at the handoff: `flow handoff status ID`.
HANDOFF_REFUSED | 6 | The handoff was refused. The error says whether sending can be tried again. | Read the reasons in the error.
HEALTH_CHECK_FAILED | 6 | The target's own health check failed. | Fix what the check reports, then send again.
INVALID_PAYLOAD | 6 | The payload lacks a required field, or is not a payload. | Add the listed fields.
TARGET_NOT_FOUND | 6 | No skill has that name, or the skill changed after it was chosen. | List the targets: `flow discover`.
VALIDATION_FAILED | 6 | All fields are present, but the payload or the target fails a check. | Fix each listed problem.
FOREIGN_FLEET | 7 | The fleet's job queue came with a clone, was moved, or belongs to another user. | Start a fleet of your own.
FOREIGN_HANDOFF | 7 | The handoff was not recorded by this user on this machine; it may have come with a clone. | Ask the sender to send it again.
FOREIGN_SESSION | 7 | The session was not started by this user on this machine; it may have come with a clone. | Ask a person to look at it and run `flow trust --session ID`.
NOT_CONFIRMED | 7 | A person was asked at the terminal and did not type `yes`. | Run the command again to decide.
NOT_TRUSTED | 7 | The command would run code that is not approved. | Ask a person to run `flow trust SKILL`.
"""
)
CODES = {
    code: ErrorCode(int(status), when, do)
    for code, status, when, do in (row.split(" | ") for row in _TABLE.splitlines())
}
