from flowrail.machines.checks.check import check_workflow as check_workflow
from flowrail.machines.definition.step_parts import (
    AgentRole as AgentRole,
    Dispatch as Dispatch,
)
from flowrail.machines.definition.values import (
    BoundedInt as BoundedInt,
    ChoiceSet as ChoiceSet,
    Constant as Constant,
)
from flowrail.machines.definition.evidence import (
    CommandFact as CommandFact,
    Evidence as Evidence,
    StepCommand as StepCommand,
)
from flowrail.machines.definition.findings import (
    Finding as Finding,
    WorkflowError as WorkflowError,
)
from flowrail.machines.definition.step_parts import (
    GateConfig as GateConfig,
    Severity as Severity,
    blocking_severities as blocking_severities,
)
from flowrail.machines.definition.script_steps import (
    Confidence as Confidence,
    DocumentAvailability as DocumentAvailability,
    LoopState as LoopState,
    QRState as QRState,
    QRStatus as QRStatus,
)
from flowrail.machines.definition.step_parts import (
    Option as Option,
    Question as Question,
)
from flowrail.machines.definition.script_steps import (
    BranchCommand as BranchCommand,
    BranchRouting as BranchRouting,
    FlatCommand as FlatCommand,
    GuidanceResult as GuidanceResult,
    LinearRouting as LinearRouting,
    NextCommand as NextCommand,
    Routing as Routing,
    Step as Step,
    StepOutput as StepOutput,
    TerminalRouting as TerminalRouting,
)
from flowrail.machines.definition.step import (
    Outcome as Outcome,
    Rule as Rule,
    StepContext as StepContext,
    StepDef as StepDef,
    Variant as Variant,
)
from flowrail.machines.definition.values import Arg as Arg
from flowrail.machines.definition.workflow import Workflow as Workflow
from flowrail.machines.engine.advance import (
    advance as advance,
    start as start,
)
from flowrail.machines.engine.reports import (
    OutcomeNotOpenError as OutcomeNotOpenError,
    SessionEndedError as SessionEndedError,
    ValuesError as ValuesError,
)
from flowrail.machines.engine.transitions import (
    compile_workflow as compile_workflow,
    event_name as event_name,
    position as position,
)
from flowrail.machines.guidance.guide import (
    Guidance as Guidance,
    OfferedTransition as OfferedTransition,
    guide as guide,
)
from flowrail.machines.engine.questions import (
    QUESTION_RELAY_HANDLER as QUESTION_RELAY_HANDLER,
    SUB_AGENT_QUESTION_FORMAT as SUB_AGENT_QUESTION_FORMAT,
)
from flowrail.machines.engine.question_input import parse_questions as parse_questions
from flowrail.machines.loading.packages import (
    discover_workflows as discover_workflows,
    register_workflow as register_workflow,
)
from flowrail.machines.loading.skill_folder import (
    ResourceProvider as ResourceProvider,
)
from flowrail.machines.loading.skill_decorator import skill as skill
from flowrail.machines.sessions.record import Record as Record
from flowrail.machines.sessions.session import (
    Report as Report,
    Session as Session,
)
from flowrail.text.safe_text import Markup as Markup
