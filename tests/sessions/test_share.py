"""Who has no name is counted by where it comes from."""

from mcp_binance_server.domain.access import ANONYMOUS
from mcp_binance_server.sessions.model import new_connection_id
from mcp_binance_server.sessions.places import Share


def test_a_share_is_per_client_and_comes_back_once() -> None:
    share = Share(2)
    members = [new_connection_id() for _ in range(4)]

    assert [share.take(member, ANONYMOUS, "192.0.2.1") for member in members[:3]] == [True, True, False]
    assert share.take(members[3], ANONYMOUS, "192.0.2.2")
    assert share.members_of("192.0.2.1") == members[:2]

    share.give_back(members[0])
    share.give_back(members[0])
    share.give_back(members[2])

    assert share.take(members[0], ANONYMOUS, "192.0.2.1")
    assert not share.take(members[2], ANONYMOUS, "192.0.2.1")


def test_who_has_a_name_and_a_share_of_zero_are_not_counted() -> None:
    for share, owner in ((Share(1), "ann"), (Share(0), ANONYMOUS)):
        assert all(share.take(new_connection_id(), owner, "192.0.2.1") for _ in range(100))
        assert share.members_of("192.0.2.1") == []
