"""guide:// addresses: five forms, decoded once, and nothing that could leave a folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.errors import InvalidScheme
from mcp_binance_server.guide.addresses import LONGEST, GuideAddress, address_of, parse_address
from mcp_binance_server.guide.errors import GuideError, GuideNotFound, GuideUriInvalid
from support.requirement import requirement


@requirement("guide/uri-parsing-success", "guide/resource-read-handler", "guide/uri-pattern-structure")
@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("guide://help", GuideAddress("help")),
        ("guide://help/", GuideAddress("help")),
        ("GUIDE://help", GuideAddress("help")),
        ("guide://collection/all", GuideAddress("collection", "all")),
        ("guide://category/examples", GuideAddress("category", "examples")),
        ("guide://category/examples/", GuideAddress("category", "examples")),
        ("guide://category/examples/intro", GuideAddress("category", "examples", "intro")),
        ("guide://category/desk/notes/week.md", GuideAddress("category", "desk", "notes/week.md")),
        ("guide://category/desk/a%2541", GuideAddress("category", "desk", "a%41")),
        ("guide://category/desk/%5Bab%5D%3F*", GuideAddress("category", "desk", "[ab]?*")),
        ("guide://category/desk/[ab]*", GuideAddress("category", "desk", "[ab]*")),
        ("guide://document/examples/intro.md", GuideAddress("document", "examples", "intro.md")),
        ("guide://document/desk/%E5%B8%81.md", GuideAddress("document", "desk", "币.md")),
    ],
)
def test_an_address_is_split_into_type_and_parameters(uri: str, address: GuideAddress) -> None:
    assert parse_address(uri) == address


@requirement("guide/invalid-uri-format")
@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("guide://", "guide://help"),
        ("guide://help/me", "guide://help"),
        ("guide://collection", "guide://collection/{id}"),
        ("guide://collection/a/b", "guide://collection/{id}"),
        ("guide://category", "guide://category/{name}"),
        ("guide://document/examples", "guide://document/{context}/{docId}"),
        ("guide://Help", "guide://document/{context}/{docId}"),
        ("guide://category/desk/a?x=1", "query"),
        ("guide://category/desk/a#top", "fragment"),
        ("guide://category/desk/%ff", "UTF-8"),
        ("guide://category/desk/" + "a" * LONGEST, "2048"),
    ],
)
def test_what_is_none_of_the_forms_is_refused_with_the_form_it_should_have(uri: str, hint: str) -> None:
    with pytest.raises(GuideUriInvalid, match="Invalid guide URI: ") as caught:
        parse_address(uri)

    assert hint in caught.value.message


@requirement("guide/invalid-scheme-rejected", "guide/error-invalid-scheme")
@pytest.mark.parametrize(
    "uri", ["", "help", "guide:/help", "binance://market/btcusdt", "file:///etc/passwd", "guides://help"]
)
def test_another_scheme_is_refused(uri: str) -> None:
    with pytest.raises(InvalidScheme, match=r"^Invalid URI scheme$"):
        parse_address(uri)


@requirement("ruling/32")
@pytest.mark.parametrize(
    "escape",
    [
        "..", "%2e%2e", "%2E.", ".", "..%2fetc", "a%2fb", "a%5cb", "a\\b", "%00", "a%00.md", "a%0ab", "a%1b", "\u202ea",
        "a%E2%80%8Bb", "a//b", "/etc/passwd", "%C2%85",
    ],
)  # fmt: skip
def test_a_part_that_could_leave_the_folder_names_nothing(escape: str) -> None:
    for uri in (
        f"guide://category/desk/{escape}/x.md",
        f"guide://document/{escape}/x.md",
        f"guide://category/{escape}/x",
    ):
        with pytest.raises(GuideNotFound) as caught:
            parse_address(uri)

        assert caught.value.message.isprintable()


@given(st.one_of(st.text(max_size=60), st.text("guide:/.%25fF0\\*?[]", max_size=60).map("guide://".__add__)))
def test_any_text_is_an_address_or_a_named_error(text: str) -> None:
    try:
        address = parse_address(text)
    except (GuideError, InvalidScheme):
        return

    parts = [address.name, *address.doc_id.split("/")] if address.kind != "help" else []
    assert not {".", ".."} & set(parts)
    assert all("\\" not in part and "\x00" not in part for part in parts)


@given(
    st.lists(
        st.text(
            st.characters(
                exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn"], exclude_characters="/\\"
            ),
            min_size=1,
            max_size=8,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_is_read_back(parts: list[str]) -> None:
    if {".", ".."} & set(parts):
        return

    assert parse_address(address_of("category", "desk", "/".join(parts))) == GuideAddress(
        "category", "desk", "/".join(parts)
    )
