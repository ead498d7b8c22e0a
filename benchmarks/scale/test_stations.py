"""The simulation's parts against what is known of queues without simulating."""

from functools import partial
from random import Random

import pytest

from scale.stations import Cores, Thread, nothing
from scale.timeline import Timeline

SERVICE_SECS = 0.001


def mean_wait(load: float, service: str, *, calls: int = 100_000, seed: int = 7) -> tuple[float, float]:
    """Return the mean wait in a queue of one thread, in services, and how busy the thread was."""
    line, chance, waits = Timeline(), Random(seed), list[float]()
    thread = Thread(Cores(line, 1))

    def arrive() -> None:
        secs = SERVICE_SECS if service == "even" else chance.expovariate(1 / SERVICE_SECS)
        began = line.now
        thread.ask(secs, lambda: waits.append(line.now - began - secs))
        line.after(chance.expovariate(load / SERVICE_SECS), arrive)

    arrive()
    line.run(calls * SERVICE_SECS / load)
    return sum(waits) / len(waits) / SERVICE_SECS, thread.used_secs / line.now


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_even_services_wait_as_pollaczek_and_khinchine_say(load: float) -> None:
    waited, _ = mean_wait(load, "even")

    assert waited == pytest.approx(load / (2 * (1 - load)), rel=0.05)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_random_services_wait_twice_as_long_as_even_ones(load: float) -> None:
    waited, _ = mean_wait(load, "random")

    assert waited == pytest.approx(load / (1 - load), rel=0.05)


def test_a_thread_is_busy_for_what_it_was_given_and_no_more() -> None:
    _, busy = mean_wait(0.6, "even")

    assert busy == pytest.approx(0.6, rel=0.01)


def test_threads_share_the_cores_there_are_in_equal_parts() -> None:
    line, ended = Timeline(), dict[str, float]()
    cores = Cores(line, 2)

    def note(name: str) -> None:
        ended[name] = line.now

    for name, secs in (("short", 1.0), ("middle", 2.0), ("long", 3.0)):
        Thread(cores).ask(secs, partial(note, name))

    line.run(10)

    # Three on two cores have two thirds of one each; from the first end on, each has a core of its own.
    assert ended == pytest.approx({"short": 1.5, "middle": 2.5, "long": 3.5})


def test_a_hog_takes_its_part_and_never_ends() -> None:
    line, ended = Timeline(), list[float]()
    thread = Thread(Cores(line, 1, hogs=1))
    thread.ask(1.0, lambda: ended.append(line.now))

    line.run(10)

    assert ended == pytest.approx([2.0])
    assert thread.used_secs == 1.0


def test_calls_that_share_a_core_take_on_average_what_processor_sharing_says() -> None:
    line, chance, took = Timeline(), Random(3), list[float]()
    cores, load = Cores(line, 1), 0.6

    def arrive() -> None:
        began = line.now
        Thread(cores).ask(chance.expovariate(1 / SERVICE_SECS), lambda: took.append(line.now - began))
        line.after(chance.expovariate(load / SERVICE_SECS), arrive)

    arrive()
    line.run(100)

    assert sum(took) / len(took) == pytest.approx(SERVICE_SECS / (1 - load), rel=0.05)


def test_work_that_falls_on_one_moment_is_done_in_the_order_it_was_asked_for() -> None:
    line, order = Timeline(), list[int]()
    thread = Thread(Cores(line, 1))
    for number in range(3):
        thread.ask(0, partial(order.append, number))
    thread.ask(1, nothing)

    line.run(1)

    assert order == [0, 1, 2]
    assert thread.pieces == 4
