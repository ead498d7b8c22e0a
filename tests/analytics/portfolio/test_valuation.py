"""What balances are worth: the first route there is, nothing for what has none, and nothing lost on the way."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import Number, price, quantity
from mcp_binance_server.analytics.portfolio.valuation import concentration, find_route, value_portfolio
from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import Symbol

values = st.lists(st.decimals(min_value=0, max_value=10**9, places=2), min_size=1, max_size=30)


def prices(**quoted: Number) -> dict[Symbol, Price]:
    return {Symbol(symbol): price(number) for symbol, number in quoted.items()}


def balance(asset: str, free: Number, locked: Number = 0) -> Balance:
    return Balance(asset, quantity(free), quantity(locked))


SAMPLE_PRICES = prices(BTCUSDT="50234.56", ETHUSDT=3000, BNBUSDT=300)
SAMPLE = [balance("BNB", 20), balance("BTC", "0.5"), balance("ETH", "5.2", "0.5"), balance("USDT", 10_000, 500)]


@pytest.mark.parametrize(
    ("asset", "quoted", "worth", "text"),
    [
        ("USDT", {}, "1", "par"),
        ("BTC", {"BTCUSDT": "50000"}, "50000", "BTCUSDT"),
        ("USDC", {"USDCUSDT": "0.9995"}, "0.9995", "USDCUSDT"),
        ("USDC", {}, "1", "par"),
        ("BUSD", {"BUSDBTC": "0.00002", "BTCUSDT": "50000"}, "1", "par"),
        ("BRL", {"USDTBRL": "5"}, "0.2", "1/USDTBRL"),
        ("XYZ", {"XYZBTC": "0.002", "BTCUSDT": "50000", "XYZBNB": "1", "BNBUSDT": "300"}, "100", "via BTC"),
        ("XYZ", {"XYZBNB": "0.5", "BNBUSDT": "300", "XYZETH": "1", "ETHUSDT": "3000"}, "150", "via BNB"),
        ("XYZ", {"XYZETH": "0.5", "ETHUSDT": "3000"}, "1500", "via ETH"),
        ("XYZ", {"XYZFDUSD": "2", "FDUSDUSDT": "0.999", "XYZUSDC": "3", "USDCUSDT": "1"}, "1.998", "via FDUSD"),
        ("XYZ", {"XYZUSDC": "3", "USDCUSDT": "1"}, "3", "via USDC"),
        ("XYZ", {"XYZUSDT": "0", "XYZBTC": "0.002", "BTCUSDT": "50000"}, "100", "via BTC"),
    ],
)
def test_the_first_route_that_exists_is_taken(asset: str, quoted: dict[str, str], worth: str, text: str) -> None:
    route = find_route(asset, prices(**quoted))

    assert (route.price, route.text, route.why_null) == (Decimal(worth), text, None)


@pytest.mark.parametrize("quoted", [{}, {"XYZBTC": "1"}, {"BTCUSDT": "50000"}, {"USDTXYZ": "0"}])
def test_half_a_route_is_no_route(quoted: dict[str, str]) -> None:
    route = find_route("XYZ", prices(**quoted))

    assert (route.price, route.legs, route.text, route.why_null) == (None, (), None, "no_route")


def test_the_sample_of_the_contract_is_valued_to_the_cent_and_ordered_by_value() -> None:
    portfolio = value_portfolio(SAMPLE, SAMPLE_PRICES)

    assert [(each.asset, each.value) for each in portfolio.holdings] == [
        ("BTC", Decimal("25117.28")),
        ("ETH", Decimal("17100.0")),
        ("USDT", Decimal(10500)),
        ("BNB", Decimal(6000)),
    ]
    assert portfolio.total == Decimal("58717.28")
    assert [f"{each.name} {each.weight:.1%}" for each in portfolio.holdings] == [
        "Bitcoin 42.8%",
        "Ethereum 29.1%",
        "Tether 17.9%",
        "Binance Coin 10.2%",
    ]
    assert (portfolio.excluded, portfolio.why_null) == ((), None)
    assert f"{portfolio.stablecoin_share:.1%}" == "17.9%"


def test_what_has_no_route_is_listed_apart_and_not_in_the_total() -> None:
    portfolio = value_portfolio([*SAMPLE, balance("ZZZ", 5), balance("AAA", 1, 1)], SAMPLE_PRICES)

    assert portfolio.total == Decimal("58717.28")
    assert [(each.asset, each.total, each.value, each.weight, each.route) for each in portfolio.excluded] == [
        ("AAA", 2, None, None, None),
        ("ZZZ", 5, None, None, None),
    ]


def test_equal_values_are_ordered_by_asset_and_empty_balances_are_left_out() -> None:
    balances = [balance("USDT", 3), balance("DAI", 3), balance("BTC", 0), balance("BUSD", 3)]

    portfolio = value_portfolio(balances, SAMPLE_PRICES)

    assert [each.asset for each in portfolio.holdings] == ["BUSD", "DAI", "USDT"]
    assert portfolio.stablecoin_share == pytest.approx(Decimal(1))


@pytest.mark.parametrize("balances", [[], [balance("BTC", 0)], [balance("ZZZ", 5)]])
def test_a_portfolio_worth_nothing_known_is_empty(balances: list[Balance]) -> None:
    portfolio = value_portfolio(balances, SAMPLE_PRICES)

    assert (portfolio.holdings, portfolio.total, portfolio.why_null) == ((), 0, "empty_portfolio")
    assert portfolio.stablecoin_share is None


@pytest.mark.night
@given(st.lists(st.tuples(st.sampled_from(["BTC", "ETH", "USDT", "BNB", "DAI", "ZZZ"]), st.integers(0, 10**6))))
def test_the_total_is_the_sum_of_what_is_priced(amounts: list[tuple[str, int]]) -> None:
    portfolio = value_portfolio([balance(asset, amount) for asset, amount in amounts], SAMPLE_PRICES)

    assert portfolio.total == sum(each.value or 0 for each in portfolio.holdings)
    assert all(each.value is None for each in portfolio.excluded)
    if not portfolio.why_null:
        assert sum(each.weight or 0 for each in portfolio.holdings) == pytest.approx(Decimal(1))


@given(values)
def test_concentration_lies_between_equal_and_all_in_one(worth: list[Decimal]) -> None:
    measured = concentration(worth)

    if measured.hhi is None or measured.normalised is None or measured.effective is None:
        assert measured.why_null == "empty_portfolio"
        assert not any(worth)
        return
    assert 1 / measured.n - 1e-9 <= measured.hhi <= 1 + 1e-9
    assert -1e-9 <= measured.normalised <= 1 + 1e-9
    assert 1 - 1e-9 <= measured.effective <= measured.n + 1e-6
    assert sum(measured.weights) == pytest.approx(1.0)


@given(values, st.integers(2, 1000))
def test_scaling_every_value_leaves_concentration_unchanged(worth: list[Decimal], factor: int) -> None:
    before, after = concentration(worth), concentration([value * factor for value in worth])

    assert after.hhi == pytest.approx(before.hhi)
    assert after.level == before.level


@pytest.mark.parametrize(
    ("worth", "level"),
    [([1] * 7, "diversified"), ([1] * 5, "moderate"), ([1] * 4, "concentrated"), ([1], "concentrated")],
)
def test_a_level_names_the_concentration(worth: list[int], level: str) -> None:
    assert concentration([Decimal(value) for value in worth]).level == level


def test_an_asset_worth_nothing_is_no_asset() -> None:
    measured = concentration([Decimal(1), Decimal(0), Decimal(1)])

    assert (measured.n, measured.hhi, measured.normalised) == (2, 0.5, 0.0)
