"""A payload's version is detected, then everything that is wrong with it is named at once."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.handoffs import (
    FILES,
    NOW,
    PAYLOADS,
    document,
    errors,
    example,
    leaves,
    problems,
    with_,
    without,
)  # fmt: skip

from flowrail.errors import DocumentError
from flowrail.handoff.errors import (
    InvalidPayloadError,
    Problem,
    ValidationFailedError,
    refuse,
)
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import (
    get,
    put,
    read,
    read_file,
)
from flowrail.handoff.payload.validate import (
    Asked,
    check,
    json_schema,
    perspective_files,
)

VERSIONS = ("1.0", "2.0", "3.0")
FIELDS = [(version, *field) for version in VERSIONS for field in leaves(json_schema(version))]
REQUIRED = [(version, path) for version, path, _, required in FIELDS if required]
ENUMS = [
    (version, path)
    for version, path, field, _ in FIELDS
    if any("enum" in each or "const" in each for each in [field, *field.get("anyOf", ())])
]


@pytest.mark.parametrize("version", FILES)
def test_an_example_of_each_version_is_fit(version: str) -> None:
    assert not errors(example(version))


def test_the_example_of_the_documents_carries_a_hash_and_a_size_that_are_not_its_own() -> None:
    found = check(read_file(str(PAYLOADS / "v2.yaml")), Asked(NOW))

    assert not found.fit
    assert [(each.field, each.kind, each.line) for each in found.problems if each.severity == "error"] == [
        ("handoff.meta.payload_hash", "integrity", 68),
        ("handoff.meta.payload_size_bytes", "integrity", 69),
    ]


@pytest.mark.parametrize(("version", "path"), REQUIRED)
def test_every_required_field_that_is_missing_is_named(version: str, path: str) -> None:
    found = [
        each
        for each in problems(without(example(version), path), sealed=path != "meta")
        if each.severity == "error"
    ]

    assert [(each.field, each.kind) for each in found] == [(f"handoff.{path}", "missing")]
    assert "is missing" in found[0].message


@pytest.mark.parametrize(("version", "path"), ENUMS)
def test_every_value_outside_its_choices_is_named(version: str, path: str) -> None:
    [found] = [each for each in problems(with_(example(version), path, "other")) if each.severity == "error"]

    assert found.field == f"handoff.{path}"
    assert "is none of `" in found.message


@pytest.mark.parametrize(("version", "path", "field"), [each[:3] for each in FIELDS])
def test_every_value_of_a_wrong_kind_is_named(version: str, path: str, field: dict[str, Any]) -> None:
    wrong: object = {"no": ["text"]} if field.get("type") == "string" else "text"
    if field.get("anyOf"):
        wrong = [{"no": 1}]
    here = example(version)
    parent = get(here, path.rpartition(".")[0].removesuffix(".0")) if "." in path else here
    if parent is None or path.startswith(("version",)):
        return

    found = errors(with_(here, path, wrong), sealed="payload_" not in path)
    found = [each for each in found if "is not that of the content" not in each]

    assert found
    assert all(f"`handoff.{path}" in each for each in found), found


def test_all_that_is_wrong_is_named_at_once_with_its_line() -> None:
    text = (PAYLOADS / "v2.yaml").read_text()
    text = text.replace("problem_type: strategic", "problem_type: odd").replace(
        "convergence_level: medium", "convergence_level: 3"
    )
    text = text.replace("skill: lit-pm", 'skill: ""').replace('  timestamp: "2026', '  timestamp: "soon 2026')

    found = check(read(text.encode(), source="p.yaml"), Asked(NOW))

    assert [(each.line, each.field.removeprefix("handoff.")) for each in found.problems[:4]] == [
        (3, "timestamp"),
        (12, "target.skill"),
        (19, "context.problem_type"),
        (64, "meta.convergence_level"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "`handoff` is missing: the document holds no handoff"),
        ("- 1", "`handoff` is missing: the document holds no handoff"),
        ("handoff: text", "`handoff` is no mapping"),
        ("handoff: {a: 1}", "`handoff.version` is missing"),
        ("handoff: {version: true}", "`handoff.version` is `True`, which is none of `1.0`, `2.0`, `3.0`"),
        ('handoff: {version: "4.0"}', "`handoff.version` is `4.0`, which is none of `1.0`, `2.0`, `3.0`"),
        ('handoff: {version: "1.2"}', "`handoff.version` is `1.2`, which is none of `1.0`, `2.0`, `3.0`"),
    ],
)
def test_a_document_without_a_version_that_is_known_is_no_payload(text: str, message: str) -> None:
    found = check(read(text.encode(), source="p"), Asked(NOW))

    assert [str(each) for each in found.problems] == [message]
    assert found.version == ""


def test_a_version_without_quotes_is_detected_and_refused() -> None:
    found = errors(with_(example("2.0"), "version", 2.0), sealed=False)

    assert found[0] == '`handoff.version` is a number; write it as a text, "2.0"'


def test_a_payload_of_version_1_2_may_stand_without_a_wrapper() -> None:
    inner = read_file(str(PAYLOADS / "v1_2.yaml"))

    assert read(json.dumps(dict(inner.handoff)).encode(), source="p").version == inner.version == "1.2"


def test_what_version_2_does_not_know_is_passed_over_and_told() -> None:
    here = with_(with_(example("2.0"), "meta.mood", "good"), "insights.divergent.0.weight", 3)

    found = check(document(integrity.sealed("2.0", here)), Asked(NOW))

    assert found.fit
    assert found.ignored == ("handoff.insights.divergent.0.weight", "handoff.meta.mood")


@pytest.mark.parametrize(
    "path",
    ["mood", "source.mood", "target.mood", "context.mood", "payload.mood", "meta.mood", "tracing.mood"],
)
def test_what_version_3_does_not_know_is_refused_at_the_top_two_levels(path: str) -> None:
    assert errors(with_(example("3.0"), path, 1)) == [f"`handoff.{path}` is not known in this version"]


def test_version_3_is_open_below() -> None:
    here = example("3.0")
    for path in ("payload.working.mood", "payload.session.artifacts.0.mood", "tracing.events.0.mood"):
        here = with_(here, path, "good")

    assert not errors(here)


def test_nothing_may_stand_beside_a_handoff_of_version_3() -> None:
    text = json.dumps({"handoff": example("3.0"), "more": 1}, indent=1)

    found = check(read(text.encode(), source="p"), Asked(NOW)).problems

    last = text.count("\n")
    assert Problem("more", "is not known in this version", "unknown", line=last) in found


def test_defaults_stand_in_for_what_may_be_left_out() -> None:
    here = example("2.0")
    for path in (
        "insights",
        "research_seeds",
        "meta",
        "expires_at",
        "context.synthesis_summary",
        "source.workflow_id",
    ):
        here = without(here, path)

    assert not errors(here, sealed=False)
    assert not errors(here, sealed=False, now=NOW + timedelta(minutes=50))
    assert errors(here, sealed=False, now=NOW + timedelta(minutes=56))
    assert [str(each) for each in problems(here, sealed=False)][-1].startswith(
        "`handoff.meta.payload_hash` is missing"
    )


def test_strict_version_2_names_its_one_source() -> None:
    here = with_(with_(example("2.0"), "source.skill", "other"), "meta.handoff_chain", ["other"])

    assert not errors(here)
    assert errors(here, strict_v2=True) == [
        "`handoff.source.skill` is `other`, the schema has `perspective-swarm`"
    ]
    assert not errors(example("2.0"), strict_v2=True)


def test_fields_are_held_against_each_other() -> None:
    here = example("2.0")

    assert errors(with_(here, "target.skill", "perspective-swarm")) == [
        "`handoff.target.skill` is the source, `perspective-swarm`, itself"
    ]
    assert "ends with `b`, not with the source" in errors(with_(here, "meta.handoff_chain", ["a", "b"]))[0]
    assert (
        errors(with_(here, "expires_at", "2026-02-04T19:30:00Z"))[0]
        == "`handoff.expires_at` is not after the timestamp"
    )
    loop = problems(with_(here, "meta.handoff_chain", ["lit-pm", "perspective-swarm"]))
    assert "may go round in circles" in loop[0].message
    assert loop[0].severity == "warning"


def test_a_long_chain_needs_the_users_word_where_the_version_has_a_place_for_it() -> None:
    long = [*"abcdef"[:5], "skill-editor"]
    here = with_(example("3.0"), "meta.handoff_chain", long)

    assert not errors(here)
    for word in (False, None):
        assert errors(with_(here, "meta.user_approved", word)) == [
            "`handoff.meta.handoff_chain` has 6 skills; over 5 the user approves"
        ]
    two = with_(example("2.0"), "meta.handoff_chain", [*"abcde", "perspective-swarm"])
    assert not errors(two)
    assert any("over 5" in str(each) for each in problems(two))


def test_tokens_are_counted_and_what_is_too_much_is_named() -> None:
    here = with_(example("3.0"), "payload.working.evidence", "x" * 8000)
    here = with_(here, "meta.token_count", 2000)

    [found] = errors(here)

    assert found.startswith("`handoff.payload` has 2")
    assert "move to a file: `payload.working.evidence` (2001), `payload.session.artifacts` (" in found
    counts = problems(with_(example("3.0"), "meta.token_count", 7))
    assert any("is 7, counted are" in str(each) and each.severity == "warning" for each in counts)


def test_the_senders_session_must_be_there_and_the_receivers_need_not() -> None:
    here = example("3.0")

    assert [each.severity for each in problems(here)] == ["warning"]
    [found] = errors(here, sending=True)
    assert found.startswith(
        "`handoff.source.session_path` is `/tmp/skill-editor-k3x9qa/`, which is no folder"
    )
    assert not problems(with_(here, "source.session_path", str(Path.cwd())), sending=True)
    assert problems(example("1.2"))[0].field == "handoff.session.session_dir"


def test_an_old_payload_with_keys_of_a_later_one_is_read_by_its_own(tmp_path: Path) -> None:
    (tmp_path / "perspective-critic.md").touch()
    here = with_(example("1.2"), "session.session_dir", str(tmp_path))
    swarm = {**here, "source": {"skill": "perspective-swarm"}, "meta": {"perspectives_completed": 7}}

    assert not problems(swarm)


def test_the_perspectives_are_counted_where_a_swarms_session_is_at_hand(tmp_path: Path) -> None:
    here = with_(example("2.0"), "source.session_path", str(tmp_path))
    assert not errors(here)
    for name in ("perspective-critic.md", "perspective-optimist.md", "notes.md", ".perspective-x"):
        (tmp_path / name).touch()

    assert errors(here) == [
        "`handoff.meta.perspectives_completed` is 5, the session holds 2 files of perspectives"
    ]
    assert not errors(with_(here, "meta.perspectives_completed", 2))
    assert not errors(with_(with_(here, "source.skill", "x"), "meta.handoff_chain", ["x"]))
    (tmp_path / "perspectives").mkdir()
    for number in range(5):
        (tmp_path / "perspectives" / f"{number}.md").touch()
    assert not errors(here)
    one = with_(example("1.0"), "source.session_path", str(tmp_path))
    assert not errors(one)
    assert errors(with_(one, "context.perspectives_completed", 3))
    assert perspective_files(str(tmp_path / "nowhere")) == []


def test_hash_and_size_are_those_of_the_content() -> None:
    for version in ("2.0", "3.0"):
        here = example(version)
        changed = with_(
            here, "payload.working.decision" if version == "3.0" else "context.original_prompt", "other"
        )
        found = errors(changed, sealed=False)
        assert "`handoff.meta.payload_hash` is not that of the content" in found[0]
        assert errors(with_(here, "meta.payload_size_bytes", 1), sealed=False)[-1].startswith(
            "`handoff.meta.payload_size_bytes` is 1, counted are"
        )


def test_clocks_may_be_five_minutes_apart() -> None:
    here, made = example("2.0"), NOW - timedelta(minutes=10)

    assert not errors(here, now=made - timedelta(minutes=5))
    assert errors(here, now=made - timedelta(minutes=5, seconds=1)) == [
        "`handoff.timestamp` has not come yet: 2026-02-04T19:30:00.000Z"
    ]
    assert not errors(here, now=made + timedelta(minutes=65))
    assert errors(here, now=made + timedelta(minutes=65, seconds=1)) == [
        "`handoff.expires_at` has passed: 2026-02-04T20:30:00.000Z"
    ]
    assert not errors(here, now=made + timedelta(days=1), expired_is_fine=True)
    for version in ("1.0", "3.0"):
        assert not errors(example(version), now=made + timedelta(days=9))


def test_offsets_are_read() -> None:
    assert integrity.moment("2026-02-04T21:30:00+02:00") == integrity.moment("2026-02-04T19:30:00")
    assert integrity.moment("0001-01-01T00:00:00+14:00") is None
    assert not errors(
        with_(
            with_(example("3.0"), "timestamp", "2026-02-04T21:30:00+02:00"),
            "expires_at",
            "2026-02-04T21:40+01:00",
        )
    )
    assert errors(with_(example("3.0"), "timestamp", "2026-02-04"))[0].endswith(
        "no time of day, write it as in 2026-02-04T19:30:00Z"
    )


@pytest.mark.parametrize("value", ["0b0e6ac17c1f4a539d0c2f6f0c1d2e3f", "x", ""])
def test_a_trace_id_is_a_uuid(value: str) -> None:
    assert "`handoff.trace_id`" in errors(with_(example("3.0"), "trace_id", value))[0]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("context.summary", "x" * 501, "has more than 500 characters"),
        ("context.summary", "", "is empty"),
        ("context.summary", "  ", "is empty"),
        ("meta.token_count", 2001, "is more than 2000"),
        ("meta.token_count", -1, "is less than 0"),
        ("meta.payload_hash", "sha256:x", "does not look like ^sha256:[0-9a-f]{64}$"),
        ("meta.user_approved", 1, "is neither true nor false"),
        ("payload.working", [], "is no mapping"),
        ("payload.session.artifacts", {}, "is no list"),
    ],
)
def test_bounds_are_told_in_words(path: str, value: object, words: str) -> None:
    assert f"`handoff.{path}` {words}" in errors(with_(example("3.0"), path, value), sealed=False)


def test_an_empty_text_counts_as_missing() -> None:
    refusal = refuse("the payload", problems(with_(example("2.0"), "context.original_prompt", " ")), hint="x")

    assert isinstance(refusal, InvalidPayloadError)
    assert refusal.document() == {
        "error": {
            "code": "INVALID_PAYLOAD",
            "message": "the payload: `handoff.context.original_prompt` is empty",
            "details": {"missing_fields": ["handoff.context.original_prompt"], "validation_errors": []},
            "recoverable": True,
            "payload_preserved": None,
        }
    }


def test_what_is_well_formed_and_does_not_hold_fails_validation() -> None:
    refusal = refuse(
        "the payload", problems(example("2.0"), now=NOW + timedelta(days=1)), hint="x", preserved="/p"
    )

    assert isinstance(refusal, ValidationFailedError)
    assert refusal.exit_status == 6
    assert refusal.beside == {"recoverable": True, "payload_preserved": "/p"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n"a": 2}', "p: the document has the key `a` twice in one object"),
        ('{"version": "2.0", "a": 1e999}', "p: the document holds 1e999, which is not a JSON number"),
        ('{"a": NaN}', "p: the document holds NaN, which is not a JSON number"),
        ('{"a":\n' + "9" * 5_000 + "}", "holds an integer of more than 40 digits"),
        ('{"a": [\n' + "1,\n" * 30_000 + "1]}", "holds more than 20000 values"),
        ("[" * 100_000, "p:1"),
        ('{"a":' * 40 + "1" + "}" * 40, "is nested deeper than 32 levels"),
        ('{"a":[\n' * 100_000, "is nested deeper than 32 levels"),
        ("a: &b 1", "the anchor `b` is not allowed"),
    ],
)
def test_documents_that_are_neither_are_refused(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(text.encode(), source="p")

    assert message in caught.value.message


def test_what_is_wrong_with_a_payload_stands_in_the_same_line_in_json_as_in_yaml() -> None:
    text = json.dumps(
        {"handoff": {**example("2.0"), "source": {"skill": 7}, "context": []}}, indent=1
    ).encode()
    as_json = check(read(text, source="p"), Asked(NOW)).problems
    as_yaml = check(read(b"# no JSON\n" + text, source="p"), Asked(NOW)).problems

    assert len({each.line for each in as_json}) > 2
    assert [each._replace(line=each.line + 1) for each in as_json] == list(as_yaml)


def test_yaml_that_begins_like_json_is_read_too() -> None:
    assert read(b"{handoff: {version: '2.0'}}", source="p").version == "2.0"
    assert read(b'{"handoff": [{"a": [1]}]}', source="p").problems[0].message == "is no mapping"


def test_the_canonical_form_does_not_depend_on_how_it_was_written() -> None:
    assert (
        integrity.canonical({"b": 7.0, "a": (1, "é"), "c": 1.5, "d": -0.0})
        == '{"a":[1,"é"],"b":7,"c":1.5,"d":0}'.encode()
    )
    assert integrity.fingerprint("2.0", {"meta": "odd"}) == integrity.fingerprint("2.0", {"meta": "odd"})
    assert integrity.sealed("1.0", {"a": 1}) == {"a": 1}


def test_things_are_put_and_taken_by_their_path() -> None:
    assert put({"a": {"b": 1}, "c": 2}, "a.d.e", 3) == {"a": {"b": 1, "d": {"e": 3}}, "c": 2}
    assert get({"a": {"b": 1}}, "a.b.c") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_the_published_schema_names_every_field(version: str) -> None:
    schema = json_schema(version)

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["title"] == f"Handoff payload {version}"
    assert {"version", "source", "target", "context"} <= schema["$defs"]["Handoff"]["properties"].keys()


def test_a_moment_at_the_end_of_time_is_one_like_any_other() -> None:
    last = integrity.moment("9999-12-31T23:59:59Z")

    assert last is not None
    assert not integrity.has_expired(last, NOW)
    assert integrity.expiry("2.0", {"timestamp": "9999-12-31T23:59:59Z"}) is not None


def test_a_digit_that_is_no_number_is_a_name_like_any_other() -> None:
    made = read('version: "2.0"\n"²": 1\n'.encode(), source="p")

    assert made.line("²") == 2
    assert made.line("list.²") >= 0
