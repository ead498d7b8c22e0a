"""Answers that nobody reads: whose are given up when there are too many of them."""

from mcp_binance_server.transports.http.server.disconnect import Unsent


def test_the_address_that_holds_most_loses_its_oldest_answer() -> None:
    unsent, gone = Unsent(most=100), list[str]()
    for name, address, size in [("a", "one", 10), ("b", "greedy", 40), ("c", "greedy", 40), ("d", "one", 20)]:
        unsent.add(name, address, size, lambda name=name: gone.append(name))

    assert gone == ["b"]


def test_what_was_read_counts_no_more() -> None:
    unsent, gone = Unsent(most=100), list[str]()
    for name in ("a", "b", "c"):
        unsent.add(name, "one", 60, lambda name=name: gone.append(name))
        unsent.drop(name)

    assert gone == []


def test_one_that_is_too_large_alone_is_given_up() -> None:
    unsent, gone = Unsent(most=100), list[str]()
    unsent.add("a", "one", 101, lambda: gone.append("a"))

    assert gone == ["a"]
