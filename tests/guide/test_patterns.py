"""Patterns: what they match, also against a slow reference."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_binance_server.guide.addresses import EXTENSIONS, PatternRefused, compile_pattern
from support.requirement import requirement


@requirement("guide/category-document-semantics")
@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        ("intro", ["intro.md", "intro.txt"], ["x/intro.md", "introduction.md", "intro.md.md"]),
        ("intro.md", ["intro.md"], ["intro.txt", "Intro.md"]),
        ("check*", ["check.md", "checklist.md"], ["recheck.md", "check/a.md"]),
        ("*.md", ["a.md", ".md"], ["a.txt", "n/a.md"]),
        ("*", ["a.md", "b.csv"], ["n/a.md"]),
        ("n/*", ["n/a.md"], ["a.md", "n/m/a.md"]),
        ("**/*.md", ["a.md", "n/a.md", "n/m/o/a.md"], ["a.txt"]),
        ("n/**/a", ["n/a.md", "n/x/y/a.md"], ["a.md", "m/a.md"]),
        ("**", ["a.md", "n/a.md"], []),
        ("n/**", ["n/a.md", "n/m/a.md"], ["a.md"]),
        ("**/n/**/a", ["n/a.md", "x/n/y/a.md", "n/n/a.md"], ["a.md", "n/b.md"]),
        ("?.md", ["a.md"], ["ab.md", ".md", "/.md"]),
        ("[a-c]?.md", ["bz.md"], ["dz.md", "b.md"]),
        ("[!a].md", ["b.md"], ["a.md"]),
        ("[a-]x.md", ["-x.md", "ax.md"], ["bx.md"]),
        ("a+(b)$.md", ["a+(b)$.md"], ["aab.md"]),
        ("*a*b*.md", ["xaxbx.md", "ab.md"], ["ba.md"]),
        ("[*].md", ["*.md"], ["a.md"]),
    ],
)
def test_a_pattern_matches_what_it_says(pattern: str, fits: list[str], not_fits: list[str]) -> None:
    compiled = compile_pattern(pattern)

    assert [doc_id for doc_id in fits if not compiled.fits(doc_id)] == []
    assert [doc_id for doc_id in not_fits if compiled.fits(doc_id)] == []


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("[ab", "not closed"),
        ("[]", "empty"),
        ("[!]", "empty"),
        ("[z-a]", "backwards"),
        ("", "characters"),
        ("a" * 257, "characters"),
        ("*a" * 17, "16 stars"),
        ("/".join("a" * 9), "8 parts"),
        ("a//b", "empty"),
        ("../a", "'..'"),
    ],
)
def test_a_pattern_outside_the_grammar_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(PatternRefused, match=reason.replace(".", r"\.")):
        compile_pattern(pattern)


def reference(pattern: str, doc_id: str) -> bool:
    """Match by trying every choice; slow, and plainly right."""

    @cache
    def name_fits(pattern: str, name: str) -> bool:
        if not pattern:
            return not name
        if pattern[0] == "*":
            return any(name_fits(pattern[1:], name[cut:]) for cut in range(len(name) + 1))
        return bool(name) and pattern[0] in {"?", name[0]} and name_fits(pattern[1:], name[1:])

    @cache
    def parts_fit(wanted: tuple[str, ...], parts: tuple[str, ...]) -> bool:
        if not wanted:
            return not parts
        if wanted[0] == "**":
            return any(parts_fit(wanted[1:], parts[cut:]) for cut in range(len(parts) + 1))
        return bool(parts) and name_fits(wanted[0], parts[0]) and parts_fit(wanted[1:], parts[1:])

    wanted = tuple(pattern.split("/"))
    names = [doc_id]
    if "." not in wanted[-1] and wanted[-1] != "**":
        names += [doc_id.removesuffix(extension) for extension in EXTENSIONS if doc_id.endswith(extension)]
    return any(parts_fit(wanted, tuple(name.split("/"))) for name in names)


segments = st.one_of(
    st.just("**"), st.text("ab*?.", min_size=1, max_size=6).filter(lambda text: text not in {".", ".."})
)
doc_ids = st.lists(st.text("ab.", min_size=1, max_size=5), min_size=1, max_size=4).map(
    lambda parts: "/".join(parts) + ".md"
)


@pytest.mark.night
@settings(max_examples=200)
@given(st.lists(segments, min_size=1, max_size=4).map("/".join), doc_ids)
def test_the_matcher_agrees_with_a_slow_reference(pattern: str, doc_id: str) -> None:
    if pattern.count("*") > 16:
        return

    assert compile_pattern(pattern).fits(doc_id) is reference(pattern, doc_id)
