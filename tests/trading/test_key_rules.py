"""Rules of one key: its lines in the place of the common ones, and nothing of it for another key."""

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pytest

from mcp_binance_server.domain.money import Price
from mcp_binance_server.trading.approvals import is_approved, new_approver, sign
from mcp_binance_server.trading.judgement.guards import Denied, Situation, denials
from mcp_binance_server.trading.judgement.intent import Touch
from mcp_binance_server.trading.judgement.policy import Confirm, Policy, TradingLimits, read_policy
from mcp_binance_server.trading.judgement.policy_lines import PolicyProblem
from support.terms import KEY, NOW_MS, terms

ALICE, BOB, NOBODY = "k-alice", "k-bob", "k-nobody"
FILE = b"""
[limits]
symbols = ["BTCUSDT", "ETHUSDT"]
per_order = "250"
per_day = "1000"
daily_loss = "100"
position = { BTC = "2000", ETH = "500" }
[confirm]
client_per_order = "75"
approver = "common"
[keys.k-alice]
mode = "live"
[keys.k-alice.limits]
symbols = ["BTCUSDT"]
per_order = "59.99"
position = { BTC = "100" }
[keys.k-alice.confirm]
approver = "of alice"
[keys.k-bob]
mode = "practice"
confirm.expires_secs = 30
"""
LIMITS = {
    "symbols": '["BTCUSDT"]',
    "types": '["LIMIT"]',
    "per_order": '"1.01"',
    "per_day": '"2.02"',
    "per_symbol_day": '"3.03"',
    "daily_loss": '"4.04"',
    "position": '{ BTC = "5.05" }',
    "orders_per_minute": "6",
    "orders_per_day": "7",
    "open_orders": "8",
    "collar_percent": '"9"',
    "slippage_bps": '"10"',
    "cancel": '"all"',
}
CONFIRM = {
    "ask": '"always"',
    "auto_per_order": '"1.01"',
    "auto_per_day": '"2.02"',
    "client_per_order": '"3.03"',
    "expires_secs": "44",
    "approver": '"somebody"',
}


def test_a_line_of_a_key_takes_the_place_of_the_common_one_and_of_no_other() -> None:
    policy = read_policy(FILE)
    alice, bob = policy.of_key(ALICE), policy.of_key(BOB)

    own = {"symbols": frozenset({"BTCUSDT"}), "per_order": 59_99, "position": {"BTC": 100_00}}
    assert alice.limits == replace(policy.limits, **own)
    assert alice.confirm == replace(policy.confirm, approver="of alice")
    assert (bob.limits, bob.confirm) == (policy.limits, replace(policy.confirm, expires_secs=30))
    assert (policy.limits.per_order, policy.confirm.approver) == (250_00, "common")


def test_rules_of_a_key_are_of_the_same_file() -> None:
    policy = read_policy(FILE)

    for each in (policy, policy.of_key(ALICE), policy.of_key(BOB), policy.of_key(NOBODY)):
        assert (each.digest, each.keys, each.counting_asset) == (policy.digest, policy.keys, policy.counting_asset)
        assert [each.mode_of(name) for name in (ALICE, BOB, NOBODY, "")] == ["live", "practice", None, None]


def test_a_key_that_is_not_named_has_the_common_rules_whoever_asks() -> None:
    policy = read_policy(FILE)

    assert policy.of_key(NOBODY) == policy
    assert policy.of_key(ALICE).of_key(NOBODY) == policy
    assert policy.of_key(ALICE).of_key(BOB) == policy.of_key(BOB)
    assert policy.of_key(ALICE).of_key(ALICE) == policy.of_key(ALICE)


@pytest.mark.parametrize(
    ("part", "name", "written"),
    [
        *(("limits", name, written) for name, written in LIMITS.items()),
        *(("confirm", name, written) for name, written in CONFIRM.items()),
    ],
)
def test_each_line_can_be_a_keys_own_and_is_read_as_the_common_one(part: str, name: str, written: str) -> None:
    common = read_policy(f"[{part}]\n{name} = {written}".encode())
    policy = read_policy(f"[keys.k-a]\nmode = 'live'\n[keys.k-a.{part}]\n{name} = {written}".encode())

    assert getattr(policy.of_key("k-a"), part) == getattr(common, part)
    assert getattr(policy, part) == getattr(Policy(), part) != getattr(common, part)
    assert [*policy.keys["k-a"].own] == [name]


def test_every_line_that_there_is_was_tried() -> None:
    assert [*LIMITS] == [each.name for each in fields(TradingLimits)]
    assert [*CONFIRM] == [each.name for each in fields(Confirm)]


def test_the_lines_of_a_key_can_be_shown_as_they_were_written() -> None:
    policy = read_policy(FILE)

    assert policy.keys[ALICE].own == {
        "symbols": "BTCUSDT", "per_order": "59.99", "position": "BTC 100", "approver": "of alice"
    }  # fmt: skip
    assert policy.keys[BOB].own == {"expires_secs": "30"}


@pytest.mark.parametrize(
    "text",
    [
        "[keys.k-a]\nmode = 'live'\n[keys.k-a.limits]\nper_order = '5'",
        "[keys.k-a.limits]\nper_order = '5'\n[keys.k-a]\nmode = 'live'",
        "[keys.\"k-a\"]\nmode = 'live'\nlimits = { per_order = '5' }",
        "[keys]\nk-a = { mode = 'live', limits = { per_order = '5' } }",
        "[keys]\nk-a = { mode = 'live', limits.per_order = '5' }",
        "keys.k-a.mode = 'live'\nkeys.k-a.limits.per_order = '5'\nkeys.k-a.confirm = {}",
    ],
)
def test_however_a_table_is_written_it_is_the_same(text: str) -> None:
    policy = read_policy(text.encode())

    assert policy.mode_of("k-a") == "live"
    assert policy.of_key("k-a").limits == TradingLimits(per_order=5_00)
    assert policy.of_key("k-a").confirm == Confirm()


def test_an_empty_table_changes_nothing() -> None:
    policy = read_policy(
        b"[limits]\nper_day = '9'\n[keys.k-a]\nmode = 'practice'\n[keys.k-a.limits]\n[keys.k-a.confirm]"
    )

    assert policy.of_key("k-a").limits == policy.limits
    assert policy.of_key("k-a").confirm == policy.confirm
    assert not policy.keys["k-a"].own


NAMED = "[keys.k-a]\nmode = 'live'\n"
DEEP = "[" * 3000
LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{NAMED}limits.per_oder = '5'", "keys.k-a.limits.per_oder: unknown line; did you mean per_order?"),
        (f"{NAMED}confirm.aprover = 'x'", "keys.k-a.confirm.aprover: unknown line; did you mean approver?"),
        (f"{NAMED}limit = {{}}", "keys.k-a.limit: unknown line; did you mean limits?"),
        (f"{NAMED}per_order = '5'", "keys.k-a.per_order: unknown line"),
        (f"{NAMED}counting_asset = 'USDT'", "keys.k-a.counting_asset: unknown line"),
        (f"{NAMED}paper = {{}}", "keys.k-a.paper: unknown line"),
        (f"{NAMED}limits = 'none'", "keys.k-a.limits: write it as a table"),
        (f"{NAMED}limits = []", "keys.k-a.limits: write it as a table"),
        (f"{NAMED}confirm = false", "keys.k-a.confirm: write it as a table"),
        (f"{NAMED}[[keys.k-a.limits]]\nper_order = '5'", "keys.k-a.limits: write it as a table"),
        ("[[keys]]\nk-a = { mode = 'live' }", "keys: write it as a table"),
        ("[[keys.k-a]]\nmode = 'live'", "keys.k-a: write it as a table"),
        ("[keys]\nk-a = 'live'", "keys.k-a: write it as a table"),
        ("[keys.k-a]", "keys.k-a.mode: missing; one of practice, live"),
        ("[keys.k-a.limits]\nper_order = '5'", "keys.k-a.mode: missing; one of practice, live"),
        ("[keys.k-a]\nmode = 'paper'", "keys.k-a.mode: one of practice, live"),
        ("[keys.k-a]\nmode = ['live']", "keys.k-a.mode: write it as text in quotes"),
        ("[keys.'']\nmode = 'live'", 'keys."": name a key by its ID'),
        ("[keys.'  ']\nmode = 'live'", "name a key by its ID"),
        ("[keys.'k a']\nmode = 'paper'", 'keys."k a".mode: one of practice, live'),
        ('[keys."k\\n\\u001b[2Ja"]\nmode = "paper"', ".mode: one of practice, live"),
        (f"{NAMED}limits.per_order = 5", "keys.k-a.limits.per_order: write it as text in quotes"),
        (f"{NAMED}limits.per_order = nan", "keys.k-a.limits.per_order: write it as text in quotes"),
        (f"{NAMED}limits.per_order = 1979-05-27", "keys.k-a.limits.per_order: write it as text in quotes"),
        (f"{NAMED}limits.per_order = 'NaN'", "keys.k-a.limits.per_order: an amount of zero or more"),
        (f"{NAMED}limits.per_order = 'sNaN'", "keys.k-a.limits.per_order: an amount of zero or more"),
        (f"{NAMED}limits.per_order = 'Infinity'", "keys.k-a.limits.per_order: an amount of zero or more"),
        (f"{NAMED}limits.per_order = '-0.01'", "keys.k-a.limits.per_order: an amount of zero or more"),
        (f"{NAMED}limits.per_order = '1e999999999'", "keys.k-a.limits.per_order: an amount of zero or more"),
        pytest.param(
            f"{NAMED}limits.per_order = '{LONG}'",
            "keys.k-a.limits.per_order: an amount of zero or more",
            id="an amount without end",
        ),
        (f"{NAMED}limits.position = {{ BTC = 'x' }}", "keys.k-a.limits.position.BTC: write the amount as text"),
        (f"{NAMED}limits.position = ['BTC']", "keys.k-a.limits.position: write it as a table"),
        (f"{NAMED}limits.open_orders = 100001", "keys.k-a.limits.open_orders: a whole number between 0 and 100000"),
        pytest.param(f"{NAMED}limits.open_orders = {LONG}", "not TOML", id="a number without end"),
        pytest.param(f"{NAMED}limits.symbols = {DEEP}", "not TOML: brackets", id="brackets without end"),
        (f"{NAMED}limits.symbols = [['BTCUSDT']]", "keys.k-a.limits.symbols: write it as text in quotes"),
        (f"{NAMED}confirm.expires_secs = 9", "keys.k-a.confirm.expires_secs: a whole number between 10 and 600"),
        (f"{NAMED}confirm.expires_secs = 601", "keys.k-a.confirm.expires_secs: a whole number between 10 and 600"),
        (f"{NAMED}confirm.approver = ''", "keys.k-a.confirm.approver: write it as text in quotes"),
        (f"{NAMED}limits.per_order = '1'\nlimits.per_order = '2'", "not TOML"),
        (f"{NAMED}{NAMED}", "not TOML"),
    ],
)
def test_a_line_of_a_key_that_cannot_be_used_is_named_in_full(text: str, said: str) -> None:
    with pytest.raises(PolicyProblem) as caught:
        read_policy(text.encode())

    problem = str(caught.value)
    assert said in problem
    assert problem.isprintable()
    assert len(problem) < 500


def test_what_live_needs_can_be_common_or_a_keys_own() -> None:
    text = """
    [limits]
    symbols = ["BTCUSDT"]
    per_order = "1"
    [keys.k-a]
    mode = "live"
    limits = { per_day = "1", daily_loss = "1" }
    [keys.k-b]
    mode = "live"
    limits = { per_day = "1" }
    """
    policy = read_policy(text.encode())

    assert policy.lacks_for_live() == ("per_day", "daily_loss")
    assert policy.of_key("k-a").lacks_for_live() == ()
    assert policy.of_key("k-b").lacks_for_live() == ("daily_loss",)


def test_who_names_approvers_for_single_keys_alone_still_resumes_by_a_passphrase() -> None:
    single = read_policy(b"keys.k-a = { mode = 'live', confirm.approver = 'a' }\nkeys.k-b = { mode = 'live' }")
    common = read_policy(b"confirm.approver = 'c'\nkeys.k-a = { mode = 'live', confirm.approver = 'a' }")

    assert (read_policy(b"").resumers, single.resumers, common.resumers) == (set(), {"a"}, {"c"})
    assert (single.of_key("k-a").resumers, single.of_key("k-b").resumers) == ({"a"}, {"a"})
    assert (common.of_key("k-a").resumers, common.of_key("k-b").resumers) == ({"a"}, {"c"})


def situation(policy: Policy, key: str, about: dict[str, Any], **changes: Any) -> Situation:  # noqa: ANN401 - any member
    touch = Touch(Price(Decimal("59999.00")), Price(Decimal("60001.00")))
    made = terms(**{"account": key, "mode": "live", "network": "mainnet", **about})
    usual = Situation(
        mode="live",
        policy=policy.of_key(key),
        terms=made,
        way=policy.of_key(key).way("live", made.counted),
        now_ms=NOW_MS,
        touch=touch,
        book_age_ms=0,
        key=key,
        asset="BTC",
    )
    return replace(usual, **changes)


# A line of one key, what just fits it, what is one unit beyond, and the guard that says so.
EDGES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ('limits.per_order = "60"', {"counted": 60_00}, {"counted": 60_01}, "per_order"),
    ('limits.per_day = "60"', {"used": {"per_day": 0}}, {"used": {"per_day": 1}}, "per_day"),
    (
        'limits.per_symbol_day = "60"',
        {"used": {"per_symbol_day:BTCUSDT": 0}},
        {"used": {"per_symbol_day:BTCUSDT": 1}},
        "per_symbol_day:BTCUSDT",
    ),
    ('limits.daily_loss = "5"', {"lost_today": 4_99}, {"lost_today": 5_00}, "daily_loss"),
    ('limits.position = { BTC = "100" }', {"held": 40_00}, {"held": 40_01}, "position:BTC"),
    (
        "limits.orders_per_minute = 3",
        {"used": {"orders_per_minute": 2}},
        {"used": {"orders_per_minute": 3}},
        "orders_per_minute",
    ),
    ("limits.orders_per_day = 3", {"used": {"orders_per_day": 2}}, {"used": {"orders_per_day": 3}}, "orders_per_day"),
    ("limits.open_orders = 3", {"used": {"open_orders": 2}}, {"used": {"open_orders": 3}}, "open_orders"),
    (
        'limits.collar_percent = "1"',
        {"price": Price(Decimal(60600))},
        {"price": Price(Decimal("60600.01"))},
        "collar",
    ),
    ('limits.symbols = ["BTCUSDT"]', {"symbol": "BTCUSDT"}, {"symbol": "BTCUSDC"}, "symbol"),
    ('limits.types = ["LIMIT"]', {"kind": "LIMIT"}, {"kind": "LIMIT_MAKER"}, "type"),
]
OF_TERMS = ("counted", "price", "symbol", "kind")


@pytest.mark.parametrize(("line", "fits", "beyond", "guard"), EDGES, ids=[each[3] for each in EDGES])
def test_a_limit_of_one_key_denies_at_its_edge_and_another_key_nothing(
    line: str, fits: dict[str, Any], beyond: dict[str, Any], guard: str
) -> None:
    file = f"[keys.{ALICE}]\nmode = 'live'\n{line}\n[keys.{BOB}]\nmode = 'live'"
    policy = read_policy(file.encode())

    def denied(key: str, given: dict[str, Any]) -> list[str]:
        about = {name: value for name, value in given.items() if name in OF_TERMS}
        beside = {name: value for name, value in given.items() if name not in OF_TERMS}
        return [each.guard for each in denials(situation(policy, key, about, **beside))]

    assert (denied(ALICE, fits), denied(ALICE, beyond)) == ([], [guard])
    assert (denied(BOB, fits), denied(BOB, beyond)) == ([], [])


@pytest.mark.parametrize(("counted", "ways"), [(50_00, ("client", "client")), (50_01, ("apart", "client"))])
def test_who_is_asked_about_an_order_is_by_its_key(counted: int, ways: tuple[str, str]) -> None:
    file = f"[keys.{ALICE}]\nmode = 'live'\nconfirm.client_per_order = '50'\n[keys.{BOB}]\nmode = 'live'"
    policy = read_policy(file.encode())

    assert tuple(policy.of_key(each).way("live", counted) for each in (ALICE, BOB)) == ways


def test_a_key_that_is_not_named_for_money_trades_with_none_whatever_its_lines() -> None:
    policy = read_policy(FILE)

    for key in (BOB, NOBODY):
        assert Denied("key", f"the key {key}", "keys with mode live in the policy file") in denials(
            situation(policy, key, {})
        )
    assert "key" not in [each.guard for each in denials(situation(policy, ALICE, {}))]


def test_the_approver_of_one_key_cannot_sign_for_another() -> None:
    alice, bob = new_approver("one passphrase"), new_approver("another passphrase")
    lines = [
        f"[keys.{key}]\nmode = 'live'\nconfirm.approver = '{each.public}'" for key, each in ((ALICE, alice), (BOB, bob))
    ]
    policy = read_policy("\n".join(lines).encode())
    of_bob = terms(account=BOB)
    preview_id = of_bob.preview_id(KEY)

    def agreed(signature: str) -> bool:
        approver = policy.of_key(of_bob.account).confirm.approver
        return is_approved(approver or "", of_bob, preview_id, signature, NOW_MS)

    assert agreed(sign(bob.sealed, "another passphrase", of_bob, preview_id))
    assert not agreed(sign(alice.sealed, "one passphrase", of_bob, preview_id))
    # Nor does what bob signed for an order of alice's count for his own.
    assert not agreed(sign(bob.sealed, "another passphrase", replace(of_bob, account=ALICE), preview_id))
