"""How a perpetual may be asked for, and what both channels say."""

import json
from typing import Any, cast

import pytest
from mcp import types

from binance_simulator.futures.quirks import Quirk
from support.channels import Structure, Text
from support.futures import PLAIN, FuturesPlace, futures_place
from support.golden import Golden
from support.requirement import requirement
from support.served import read_page, text_of
from support.verdicts import VERDICTS

CONTRACTS = (PLAIN, "BTCUSDT", "DOGEUSDT", "1INCHUSDT", "AVAXUSDT", "LTCUSDT", "DOTUSDT", "TSLAUSDT", "1000PEPEUSDT")


@pytest.mark.parametrize("written", ["BTCUSDT", "btcusdt", "BTCUSDT.P", "BTCUSDTPERP", "btcusdt_perp"])
async def test_a_perpetual_may_be_written_as_elsewhere(place: FuturesPlace, written: str) -> None:
    assert (await place.told(written))["symbol"] == "BTCUSDT"


@pytest.mark.parametrize("symbol", ["BTCUSDT", "TSLAUSDT", "DOTUSDT"])
async def test_the_page_is_the_text_of_the_tool(place: FuturesPlace, symbol: str) -> None:
    text = await place.page(symbol)

    assert await read_page(place.client, f"binance://derivatives/{symbol.lower()}") == text


async def test_contracts_complete_the_address_of_the_page(place: FuturesPlace) -> None:
    template = types.ResourceTemplateReference(type="ref/resource", uri="binance://derivatives/{symbol}")

    found = (await place.client.complete(template, {"name": "symbol", "value": "1000"})).completion.values
    nothing = (await place.client.complete(template, {"name": "symbol", "value": "matic"})).completion.values

    assert "1000pepeusdt" in found
    assert nothing == []  # it is being settled


@pytest.mark.slow
@pytest.mark.parametrize("symbol", ["BTCUSDT", "TSLAUSDT"])
async def test_an_answer_is_as_reviewed(place: FuturesPlace, golden: Golden, symbol: str) -> None:
    result = await place.client.call_tool("get_derivatives", {"symbol": symbol})

    golden.check(f"tools/get_derivatives.{symbol.lower()}.answer.json", result.structured_content)
    golden.check(f"tools/get_derivatives.{symbol.lower()}.answer.md", text_of(result))


async def test_data_that_is_old_is_called_old(place: FuturesPlace) -> None:
    place.exchange.futures.quirks.add(Quirk(kind="behind", ms=7_500_000, path="*/premiumIndex"))

    result = await place.client.call_tool("get_derivatives", {"symbol": PLAIN})
    page = await read_page(place.client, f"binance://derivatives/{PLAIN.lower()}")

    stale = "Stale: the exchange's data is 2 h 5 min old"
    assert result.structured_content["warnings"] == [stale]
    assert text_of(result).count(f"*{stale}*") == page.count(f"*{stale}*") == 1


@pytest.mark.slow
@requirement("ruling/39")
@pytest.mark.parametrize("symbol", CONTRACTS)
async def test_both_channels_say_the_same(place: FuturesPlace, symbol: str) -> None:
    result = await place.client.call_tool("get_derivatives", {"symbol": symbol})

    text, structure = text_of(result), result.structured_content
    assert Text(text).missing(structure) == []
    assert Structure(structure).missing(text) == []
    assert len(text.encode()) <= 2_200
    assert len(json.dumps(structure, separators=(",", ":"), ensure_ascii=False).encode()) <= 3_000


def ranked(node: object, inherited: str | None = None) -> list[tuple[float, int, str | None]]:
    """Return every percentile with its n and its window, which may stand a level above."""
    if not isinstance(node, dict):
        return []
    named = cast("dict[str, Any]", node)
    window = named.get("window", inherited)
    own = [(named["percentile"], named["n"], window)] if "percentile" in named else []
    return [*own, *(found for each in named.values() for found in ranked(each, window))]


@pytest.mark.slow
@pytest.mark.parametrize("symbol", CONTRACTS)
async def test_each_percentile_has_its_n_and_window(place: FuturesPlace, symbol: str) -> None:
    found = ranked(await place.told(symbol))

    assert len(found) == 6
    for percentile, n, window in found:
        assert 0 <= percentile <= 100
        assert n >= 30
        assert window is not None


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.flood
@pytest.mark.timeout(300)
async def test_noise_brings_no_verdict_and_no_more_extremes_than_chance() -> None:
    texts: list[str] = []
    ranks: list[float] = []
    for seed in range(50):
        async with futures_place(seed=seed, scenario="noise") as place:
            symbol = ("XRPUSDT", "1INCHUSDT", "ADAUSDT")[seed % 3]
            result = await place.client.call_tool("get_derivatives", {"symbol": symbol})
            texts.append(text_of(result))
            ranks += [each for each, _, _ in ranked(result.structured_content)]

    assert all(text.startswith("# ") for text in texts)
    assert [word for text in texts for word in VERDICTS if word in text.casefold()] == []
    assert len(ranks) == 300
    assert 0.03 <= sum(each > 95 for each in ranks) / len(ranks) <= 0.07
