"""The agenda is what a plain dictionary, sorted at every look, would be."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.sessions.registry import Deadlines

Step = tuple[str, str, int]
steps = st.lists(
    st.tuples(st.sampled_from(("put", "put", "drop", "pop")), st.sampled_from("abcde"), st.integers(0, 50)), max_size=60
)


@given(steps)
def test_every_history_agrees_with_a_sorted_dictionary(history: list[Step]) -> None:
    agenda = Deadlines[str]()
    naive: dict[str, int] = {}
    for verb, name, at in history:
        if verb == "put":
            agenda.put(name, at)
            naive[name] = at
        elif verb == "drop":
            agenda.drop(name)
            naive.pop(name, None)
        else:
            due = agenda.pop_due(at)
            assert sorted(due) == sorted(name for name, moment in naive.items() if moment <= at)
            assert [naive[name] for name in due] == sorted(naive[name] for name in due)
            naive = {name: moment for name, moment in naive.items() if moment > at}
        assert agenda.next() == min(naive.values(), default=inf)


def test_memory_follows_what_is_noted_not_what_was() -> None:
    agenda = Deadlines[int]()

    for number in range(10_000):
        agenda.put(number, 1_000_000)
        agenda.put(0, number)
        if number:
            agenda.drop(number)

    assert len(agenda._heap) <= 100  # pyright: ignore[reportPrivateUsage]
    assert agenda.pop_due(inf) == [0]
