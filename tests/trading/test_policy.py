"""The operator's file: what it means, and that no line of it is misread in silence."""

from decimal import Decimal

import pytest

from mcp_binance_server.trading.judgement.policy import Confirm, Policy, TradingLimits, cents_up, read_policy
from mcp_binance_server.trading.judgement.policy_lines import PolicyProblem

WHOLE = b"""
counting_asset = "USDC"
[limits]
symbols = ["BTCUSDT", "ETHUSDT"]
types = ["LIMIT", "MARKET"]
per_order = "250"
per_day = "1000.50"
per_symbol_day = "500"
daily_loss = "100.009"
position = { BTC = "2000" }
orders_per_minute = 3
orders_per_day = 30
open_orders = 2
collar_percent = "1.5"
slippage_bps = "20"
cancel = "all"
[confirm]
ask = "always"
auto_per_order = "10"
auto_per_day = "50"
client_per_order = "75"
approver = "MCowBQ"
[keys."k-abc"]
mode = "live"
[paper]
balances = { USDT = "500", BTC = "0.5" }
"""


def test_every_line_is_read() -> None:
    policy = read_policy(WHOLE)
    limits, confirm = policy.limits, policy.confirm

    assert policy.counting_asset == "USDC"
    assert limits.symbols == {"BTCUSDT", "ETHUSDT"}
    assert limits.types == {"LIMIT", "MARKET"}
    assert (limits.per_order, limits.per_day, limits.per_symbol_day) == (250_00, 1000_50, 500_00)
    assert limits.daily_loss == 100_00  # a limit is never read as more than was written
    assert limits.position == {"BTC": 2000_00}
    assert (limits.orders_per_minute, limits.orders_per_day, limits.open_orders) == (3, 30, 2)
    assert (limits.collar_percent, limits.slippage_bps, limits.cancel) == (Decimal("1.5"), Decimal(20), "all")
    assert (confirm.ask, confirm.auto_per_order, confirm.auto_per_day) == ("always", 10_00, 50_00)
    assert (confirm.client_per_order, confirm.approver) == (75_00, "MCowBQ")
    assert ([*policy.keys], policy.mode_of("k-abc")) == (["k-abc"], "live")
    assert policy.paper_balances == {"USDT": Decimal(500), "BTC": Decimal("0.5")}


def test_an_empty_file_is_the_defaults_and_not_enough_for_money() -> None:
    policy = read_policy(b"")

    assert policy == Policy()
    assert policy.lacks_for_live() == ("symbols", "per_order", "per_day", "daily_loss")
    assert read_policy(WHOLE).lacks_for_live() == ()


def test_another_byte_is_another_policy() -> None:
    assert read_policy(WHOLE).digest != read_policy(WHOLE + b"\n").digest


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[limits]\nper_oder = '5'", "limits.per_oder: unknown line; did you mean per_order?"),
        ("limits = 5", "limits: write it as a table"),
        ("[limits]\nper_order = 250", "limits.per_order: write it as text in quotes"),
        ("[limits]\nper_order = 250.5", "limits.per_order: write it as text in quotes"),
        ("[limits]\nper_order = 'lots'", 'limits.per_order: write the amount as text: "250"'),
        ("[limits]\nper_order = '-1'", "limits.per_order: an amount of zero or more"),
        ("[limits]\nper_order = 'NaN'", "limits.per_order: an amount of zero or more"),
        ("[limits]\nper_order = '1e30'", "limits.per_order: an amount of zero or more"),
        ("[limits]\nsymbols = 'BTCUSDT'", "limits.symbols: write it as a list"),
        ("[limits]\nsymbols = ['btcusdt']", "limits.symbols: write symbols as BTCUSDT"),
        ("[limits]\ntypes = ['STOP']", "limits.types: one of LIMIT, MARKET"),
        ("[limits]\norders_per_minute = '5'", "limits.orders_per_minute: a whole number"),
        ("[limits]\norders_per_minute = true", "limits.orders_per_minute: a whole number"),
        ("[limits]\norders_per_minute = -1", "limits.orders_per_minute: a whole number"),
        ("[limits]\ncancel = 'mine'", "limits.cancel: one of own, all"),
        ("[limits]\nposition = '5'", "limits.position: write it as a table"),
        ("[confirm]\nask = 'never'", "confirm.ask: one of default, always"),
        ("[confirm]\nauto = '5'", "confirm.auto: unknown line"),
        ("[keys.k]\nmode = 'paper'", "keys.k.mode: one of practice, live"),
        ("[paper]\nbalance = {}", "paper.balance: unknown line; did you mean balances?"),
        ("counting_asset = 'BTC'", "counting_asset: one of USDT"),
        ("limits = [", "not TOML"),
        ("\udcff", "not TOML"),
        pytest.param(f"[limits]\norders_per_minute = {'9' * 5000}", "not TOML", id="a number without end"),
        pytest.param(
            f"[limits]\nper_order = '{'9' * 5000}'",
            "limits.per_order: an amount of zero or more",
            id="an amount without end",
        ),
        pytest.param(
            f"[limits]\nsymbols = {'[' * 5000}",
            "not TOML: brackets are nested too deeply",
            id="brackets without end",
        ),
        ("'per\\norder' = 1", '"per\\norder": unknown line'),
        ('"per\\norder" = 1', '"perorder": unknown line'),
    ],
)
def test_a_line_that_cannot_be_used_is_named(line: str, said: str) -> None:
    with pytest.raises(PolicyProblem) as caught:
        read_policy(line.encode(errors="surrogateescape"))

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("file", "mode", "counted", "way"),
    [
        (b"", "paper", 10**9, "policy"),
        (b"", "practice", 10**9, "policy"),
        (b"", "live", 1, "client"),
        (b"", "live", 100_00, "client"),
        (b"", "live", 100_01, "apart"),
        (b"[confirm]\nask = 'always'", "paper", 10**9, "client"),
        (b"[confirm]\nask = 'always'\nclient_per_order = '50'", "paper", 50_01, "apart"),
        (b"[confirm]\nauto_per_order = '5'", "live", 5_00, "policy"),
        (b"[confirm]\nauto_per_order = '5'", "live", 5_01, "client"),
        (b"[confirm]\nask = 'always'\nauto_per_order = '5'", "live", 1, "client"),
        (b"[confirm]\nclient_per_order = '0'", "live", 1, "apart"),
    ],
)
def test_who_is_asked(file: bytes, mode: str, counted: int, way: str) -> None:
    assert read_policy(file).way(mode, counted) == way  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "cents"),
    [("0.019", 1), ("0.99" + "9" * 40, 99), ("250." + "0" * 60 + "1", 250_00), ("9" * 15 + "." + "9" * 30, 10**17 - 1)],
)
def test_a_limit_is_never_more_than_was_written_however_long(written: str, cents: int) -> None:
    assert read_policy(f"[limits]\nper_order = '{written}'".encode()).limits.per_order == cents


def test_what_is_counted_is_never_less_than_it_is() -> None:
    assert [cents_up(Decimal(text)) for text in ("0", "0.001", "0.01", "0.011", "250")] == [0, 1, 1, 2, 250_00]


@pytest.mark.parametrize(
    ("line", "edges", "beyond"),
    [
        ("[confirm]\nexpires_secs = {}", ("10", "600"), ("9", "601")),
        ("[limits]\norders_per_minute = {}", ("0", "100000"), ("-1", "100001")),
        ("[limits]\nslippage_bps = '{}'", ("0", "1e-15", "9e15"), ("-1", "1e-16", "1e16")),
    ],
)
def test_a_number_is_read_up_to_its_edges_and_not_beyond(
    line: str, edges: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    for number in edges:
        read_policy(line.format(number).encode())

    for number in beyond:
        with pytest.raises(PolicyProblem):
            read_policy(line.format(number).encode())


def test_a_file_without_lines_sets_these_limits() -> None:
    policy = read_policy(b"")

    assert policy.limits == TradingLimits(
        symbols=None,
        types=frozenset({"LIMIT", "MARKET", "LIMIT_MAKER", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT", "OCO"}),
        per_order=None,
        per_day=None,
        per_symbol_day=None,
        daily_loss=None,
        position={},
        orders_per_minute=5,
        orders_per_day=50,
        open_orders=10,
        collar_percent=Decimal(2),
        slippage_bps=Decimal(50),
        cancel="own",
    )
    assert policy.confirm == Confirm(
        ask="default", auto_per_order=0, auto_per_day=0, client_per_order=None, expires_secs=120, approver=None
    )
    assert policy.paper_balances == {"USDT": Decimal(10_000)}
    assert policy.counting_asset == "USDT"


@pytest.mark.parametrize("asset", ["USDT", "USDC", "FDUSD", "TUSD", "USDP", "DAI", "BUSD", "EUR", "TRY", "BRL"])
def test_amounts_can_be_counted_in_each_of_these_assets(asset: str) -> None:
    assert read_policy(f"counting_asset = '{asset}'".encode()).counting_asset == asset


@pytest.mark.parametrize("missing", ["symbols", "per_order", "per_day", "daily_loss"])
def test_live_trading_lacks_each_limit_that_is_not_written(missing: str) -> None:
    lines = {"symbols": "['BTCUSDT']", "per_order": "'1'", "per_day": "'1'", "daily_loss": "'1'"}
    written = "\n".join(f"{name} = {value}" for name, value in lines.items() if name != missing)

    assert read_policy(f"[limits]\n{written}".encode()).lacks_for_live() == (missing,)


def test_a_client_may_be_asked_about_what_counts_nothing() -> None:
    assert read_policy(b"").client_ceiling("paper") == 0
    assert read_policy(b"").client_ceiling("live") == 100_00


def test_rules_of_one_key_are_shown_without_the_common_ones() -> None:
    rules = read_policy(b"[keys.k-x]\nmode = 'live'").of_key("k-x")

    assert rules.common is not None
    assert "common=" not in repr(rules)
