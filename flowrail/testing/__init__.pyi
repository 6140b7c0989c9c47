from flowrail.machines.definition.values import (
    BoundedInt as BoundedInt,
    ChoiceSet as ChoiceSet,
    Constant as Constant,
)
from flowrail.machines.exploration.inputs import (
    extract_schema as extract_schema,
    generate_inputs as generate_inputs,
    input_id as input_id,
)
from flowrail.testing.invocation import run_skill_invocation as run_skill_invocation
from flowrail.testing.run import (
    Run as Run,
    load as load,
)
