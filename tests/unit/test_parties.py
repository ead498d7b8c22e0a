"""For whom a limit counts: a token, a key that the exchange has accepted, else an address."""

import contextvars

import pytest

from mcp_binance_server.domain.access import LOCAL, PARTY, Credentials, Visitor, acting_for, client_of, party_of
from mcp_binance_server.exchange.signing import AcceptedKeys, Principal

ANN, BOB = Visitor("ann"), Visitor("bob")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:0:7::1", "2001:db8:0:7:ffff:ffff:ffff:ffff", True),
        ("2001:db8:0:7::1", "2001:DB8:0000:0007::2", True),
        ("2001:db8:0:7::1", "2001:db8:0:8::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "", True),
        ("not an address", "another", False),
    ],
)
def test_a_client_is_an_address_of_ipv4_or_a_line_of_ipv6(one: str, other: str, is_same: bool) -> None:  # noqa: FBT001
    assert (client_of(one) == client_of(other)) is is_same


def test_a_token_comes_before_a_key_and_a_key_before_an_address() -> None:
    by_token = party_of(ANN, "key", "192.0.2.1")
    by_key = party_of(LOCAL, "key", "192.0.2.1")
    by_address = party_of(LOCAL, None, "192.0.2.1")

    assert by_token == party_of(ANN, None, "192.0.2.2") != party_of(BOB, "key", "192.0.2.1")
    assert by_key == party_of(LOCAL, "key", "192.0.2.2") != party_of(LOCAL, "other", "192.0.2.1")
    assert by_address == party_of(LOCAL, None, "192.0.2.1") != party_of(LOCAL, None, "192.0.2.2")
    assert len({by_token, by_key, by_address}) == 3


def test_the_name_of_a_party_tells_nobody_who_it_is() -> None:
    named = [party_of(ANN, None, ""), party_of(LOCAL, "api-key", ""), party_of(LOCAL, None, "192.0.2.1")]

    assert not any(word in name for name in named for word in ("ann", "api-key", "192"))


def test_who_knows_an_api_key_alone_is_not_its_owner() -> None:
    accepted, owner = AcceptedKeys(most=2), Principal.of(Credentials("k" * 64, "s" * 64))
    accepted.add(owner)

    assert owner in accepted
    assert Principal.of(Credentials("k" * 64, "t" * 64)) not in accepted

    for number in range(2):
        accepted.add(Principal.of(Credentials(f"{number}" * 64, "s" * 64)))
    assert owner not in accepted


def test_work_counts_for_a_party_until_it_is_over_and_so_does_what_it_starts() -> None:
    with acting_for("ann"):
        started = contextvars.copy_context()
        with acting_for("bob"):
            assert PARTY.get() == "bob"
        assert PARTY.get() == "ann"

    assert PARTY.get() == ""
    assert started.run(PARTY.get) == "ann"
