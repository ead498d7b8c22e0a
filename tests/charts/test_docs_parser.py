"""The documentation page is read by its headings and column names, and refused when it cannot be the page."""

import re

import pytest

from binance_simulator.chartimg.facts import documentation, read_facts
from mcp_binance_server.charts.catalogue import ChartCatalogue, bundled_catalogue
from mcp_binance_server.charts.chartimg.docs import merged_catalogue
from mcp_binance_server.charts.chartimg.docs_markup import (
    Code,
    Heading,
    QuoteBlock,
    Table,
    UnreadablePage,
    read_blocks,
)
from mcp_binance_server.charts.chartimg.docs_parser import parse_documentation
from support.fixtures import DATA

INDICATORS = "TradingView Chart Indicators</h1>"
DRAWINGS = "<h1 id='tradingview-chart-drawings'>"


@pytest.fixture(scope="module")
def page() -> str:
    """A page in the shape of the real one, written from the same facts as the bundled catalogue."""
    return (DATA / "charts/doc_fixture.html").read_text(encoding="utf-8")


def read(page: str) -> ChartCatalogue:
    return merged_catalogue(parse_documentation(page), bundled_catalogue())


def without_sections(page: str, kept: int) -> str:
    """Return the page with the first so many indicators only."""
    start = page.index(INDICATORS) + len(INDICATORS)
    end = page.index(DRAWINGS)
    sections = re.split(r"(?=<h2)", page[start:end])
    return page[:start] + "".join(sections[: kept + 1]) + page[end:]


def test_the_page_says_what_the_bundled_catalogue_says(page: str) -> None:
    assert read(page) == bundled_catalogue()


def test_the_page_of_the_simulator_says_it_too() -> None:
    assert read(documentation(read_facts())) == bundled_catalogue()


def test_a_page_with_other_anchors_and_classes_says_the_same(page: str) -> None:
    renamed = re.sub(r"id='[^']*'", "id='x'", page).replace('class="content"', 'class="text"')

    assert read(renamed) == bundled_catalogue()


def test_columns_may_stand_in_any_order(page: str) -> None:
    def swapped(match: re.Match[str]) -> str:
        cells = re.findall(r"<t[hd]>.*?</t[hd]>", match[0], re.DOTALL)
        return "<tr>\n" + "\n".join(reversed(cells)) + "\n</tr>"

    start = page.index("TradingView Snapshot v2</h1>")
    reordered = page[:start] + re.sub(r"<tr>.*?</tr>", swapped, page[start:], flags=re.DOTALL)

    assert reordered != page
    assert read(reordered) == bundled_catalogue()


OLD_PLANS = """<table><thead>
<tr><th>Max Resolution</th><th>Plan</th><th>Daily Limit</th><th>Rate Limit</th></tr></thead>
<tbody>
<tr><td>800x600</td><td>Basic</td><td>50</td><td>1/sec</td></tr>
<tr><td>1920 x 1080</td><td>Pro</td><td>500</td><td>10/sec</td></tr>
<tr><td>1920x1600</td><td>Mega</td><td>1,000</td><td>15/sec</td></tr>
<tr><td>2048x1920</td><td>Ultra</td><td>3,000+</td><td>40/sec</td></tr>
</tbody></table>"""


def test_an_older_table_of_plans_is_read_and_completed(page: str) -> None:
    start, end = page.index("<h2 id='rate-limit'>"), page.index("<h1 id='tradingview-symbols'>")

    plans = read(page[:start] + OLD_PLANS + page[end:]).plans

    assert list(plans) == ["BASIC", "PRO", "MEGA", "ULTRA"]
    assert plans["PRO"] == bundled_catalogue().plans["PRO"]
    assert (plans["ULTRA"].requests_per_second, plans["ULTRA"].open_ended) == (40, True)
    assert (plans["MEGA"].daily_max, plans["MEGA"].max_studies) == (1_000, 10)


def test_known_misspellings_do_no_harm(page: str) -> None:
    spoilt = page.replace("<td>interval</td>", "<td>interavl</td>", 1).replace("<td>Color</td>", "<td>Color2196F3</td>")

    assert read(spoilt) == bundled_catalogue()


def test_lost_end_tags_do_no_harm(page: str) -> None:
    assert read(re.sub(r"</t[rhd]>|</tbody>|</thead>", "", page)) == bundled_catalogue()


def test_an_indicator_nobody_knew_is_there_under_its_own_name(page: str) -> None:
    section = (
        "<h2>Moon-Phase index &nbsp; 🌕</h2><blockquote><p>Request Examp</p></blockquote>"
        '<pre>{"studies": [{"name": "Moon-Phase index", "forceOverlay": false}]}</pre>'
        "<h3>Parameter input</h3><table><tr><th>Default</th><th>Parameter</th><th>Type</th><th>Description</th></tr>"
        "<tr><td>29.5</td><td>in_0</td><td>Float</td><td>days (Min: 1, Max: 100)</td></tr></table>"
    )

    new = read(page.replace(DRAWINGS, section + DRAWINGS)).indicator("Moon-Phase index")

    assert new is not None
    assert (new.name, new.category, new.overlay) == ("MoonPhaseIndex@tv-basicstudies", "Other", False)
    rule = new.input["in_0"]
    assert (rule.public, rule.default, rule.min, rule.max, rule.label) == ("in_0", 29.5, 1, 100, "days")


def test_a_changed_limit_is_believed(page: str) -> None:
    changed = page.replace("look-back in bars (Min: 1, Max: 10000)", "bars (Min: 2, Max: 99)")

    rule = read(changed).indicators[9].input["in_0"]

    assert (rule.min, rule.max, rule.label, rule.public) == (2, 99, "bars", "length")


def test_a_part_that_the_page_lost_is_the_bundled_one(page: str) -> None:
    start, end = page.index(DRAWINGS), page.index("<h1 id='tradingview-snapshot-v3'>")

    assert read(page[:start] + page[end:]) == bundled_catalogue()


@pytest.mark.parametrize(("kept", "is_read"), [(49, False), (50, True)])
def test_a_page_with_few_indicators_is_not_the_page(page: str, kept: int, *, is_read: bool) -> None:
    cut = without_sections(page, kept)

    if is_read:
        assert len(read(cut).indicators) == kept
    else:
        with pytest.raises(UnreadablePage, match="49 indicators"):
            parse_documentation(cut)


@pytest.mark.parametrize(
    ("found", "instead", "reason"),
    [
        ("<td>interval</td>", "<td>step</td>", "no list of intervals"),
        ("bar size [", "bar size ", "no list of intervals"),
        ("<th>Plan</th>", "<th>Offer</th>", "0 plans"),
        ("Request Limit", "Limits", "0 plans"),
        ("</html>", "", "cut off"),
    ],
)
def test_a_page_that_lacks_what_it_must_have_is_refused(page: str, found: str, instead: str, reason: str) -> None:
    assert found in page
    with pytest.raises(UnreadablePage, match=reason):
        parse_documentation(page.replace(found, instead))


@pytest.mark.parametrize("part", [0.1, 0.5, 0.75, 0.9, 0.99])
def test_a_page_that_ends_early_is_refused(page: str, part: float) -> None:
    with pytest.raises(UnreadablePage, match="cut off"):
        parse_documentation(page[: int(len(page) * part)])


def test_blocks_come_in_their_order_with_plain_text() -> None:
    blocks = read_blocks(
        "<style>h1 {}</style><script>if (a<b) {'<h1>no</h1>'}</script><!-- <h1>no</h1> -->"
        "<H1 id=x>Request&nbsp; Limit ⚠️</H1><blockquote><p>Request Examp</p></blockquote>"
        "<pre class=a><code>{&quot;a&quot;: 1}</code></pre>"
        "<table><tr><th>Plan</th><th>A <b>B</b></th></tr><tr><td>x<td>y &amp; z</table><h3>End</h3>"
    )

    assert blocks == [
        Heading(1, "Request Limit"),
        QuoteBlock("Request Examp"),
        Code('{"a": 1}'),
        Table(("plan", "a b"), (("x", "y & z"),)),
        Heading(3, "End"),
    ]
