"""Foreign text is shown with every character visible, and never becomes markup."""

from __future__ import annotations

import json
import sys
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused

from flowrail.text.safe_text import (
    attributes,
    decode,
    json_visible,
    visible,
    xml_text,
)

ANY = st.text(st.characters(exclude_categories=[]), max_size=40) | st.text(
    st.sampled_from("<>&\"'\t\n\r\x00\x1b]][!CDATA-\ud800\u202e\u2028\ufeff\ufffeé\U0001f600"), max_size=30
)
SHOWN_ANYWAY = {
    *(chr(code) for code in range(0x600, 0x606)),
    *("\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\ufff9\ufffa\ufffb"),
}


@given(ANY)
def test_an_xml_parser_returns_the_visible_text(text: str) -> None:
    content = ET.fromstring(f"<a>{xml_text(text)}</a>")  # noqa: S314 - our own output
    attribute = ET.fromstring(f"<a{attributes(b=text)}/>")  # noqa: S314

    assert (content.text or "") == visible(text)
    assert attribute.get("b") == visible(text)
    assert len(content) == 0


@given(ANY)
def test_visible_text_is_unchanged_by_making_it_visible_again(text: str) -> None:
    shown = visible(text)

    shown.encode("utf-8")
    assert visible(shown) == shown
    assert "\x1b" not in shown
    assert "\r" not in shown


@given(ANY)
def test_a_json_document_keeps_its_value_and_hides_no_character(text: str) -> None:
    written = json_visible(json.dumps({text: [text]}, ensure_ascii=False))

    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # pairs made one
    assert json.loads(written) == {whole: [whole]}
    assert visible(written) == written


def test_every_control_and_format_character_is_made_visible() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in {
            "\n",
            "\t",
            *SHOWN_ANYWAY,
        }:
            assert visible(char) == f"⟨U+{code:04X}⟩"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "marked"])
def test_bytes_that_are_not_utf_8_are_reported_with_their_line(mark: bytes) -> None:
    with refused(
        "FILE_NOT_TEXT", match=r"^a\.md:3: byte 0xFF is not UTF-8\nsave the file as UTF-8$"
    ) as caught:
        decode(mark + b"one\r\ntwo\nx\xff", source="a.md")

    assert caught.value.code == "FILE_NOT_TEXT"
