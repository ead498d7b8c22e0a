"""Which clients are set up: those that were named, or those that are found here and chosen."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from pathlib import Path

from mcp_binance_server.cli.setup.clients import CLIENTS, Client, Machine
from mcp_binance_server.cli.setup.command import CLIENT_NAMES, client_name
from mcp_binance_server.cli.setup.files import ATTEMPTS, Talk, UnreadableConfig, read_text
from mcp_binance_server.cli.setup.plan import entry_of
from mcp_binance_server.cli.terminal import Terminal

Which = Callable[[str], str | None]


def installed_clients(machine: Machine, which: Which) -> list[Client]:
    """Return the clients of which there is a trace: their file, its folder, or their command."""
    return [client for client in CLIENTS.values() if _is_here(client, machine, which)]


def clients_with_entry(machine: Machine, name: str) -> list[Client]:
    """Return the clients that have an entry of this name; one whose file cannot be read is not among them."""
    return [client for client in CLIENTS.values() if _has_entry(client, machine, name)]


def choose(talk: Talk, terminal: Terminal, found: Sequence[Client], done: Sequence[Client]) -> list[Client]:
    """Ask which clients are meant, with those that were found in a list; Enter means all of them.

    Raises:
        EOFError: nobody answers.
    """
    others = [client.title for client in CLIENTS.values() if client not in found]
    if found:
        talk.say("Found on this machine:\n\n")
        _list(talk, terminal, found, done)
        talk.say(f"\nNot found: {', '.join(others)}.\n" if others else "\n")
        question = "Which? Numbers or names, Enter for all that were found: "
    else:
        talk.say(f"No client was found in its usual place. There are: {', '.join(others)}.\n")
        question = "Which do you use? "
    return _asked(talk, question, found)


def choose_removal(talk: Talk, terminal: Terminal, having: Sequence[Client], name: str) -> list[Client]:
    """Ask out of which clients an entry is to be taken; Enter means all.

    Raises:
        EOFError: nobody answers.
    """
    talk.say(f"These have an entry named {name}:\n\n")
    _list(talk, terminal, having, ())
    return _asked(talk, "\nTake it out of which? Numbers or names, Enter for all: ", having)


def _list(talk: Talk, terminal: Terminal, clients: Sequence[Client], done: Sequence[Client]) -> None:
    for number, client in enumerate(clients, 1):
        note = terminal.paint("  (set up already)", "dim") if client in done else ""
        talk.say(f"  {number}  {terminal.paint(client.title, 'bold')}{note}\n")


def _asked(talk: Talk, question: str, found: Sequence[Client]) -> list[Client]:
    for _ in range(ATTEMPTS):
        try:
            if chosen := _chosen(talk.ask(question), found):
                return chosen
        except (ValueError, ArgumentTypeError) as problem:
            talk.say(f"{problem}\n")
    return []


def _chosen(answer: str, found: Sequence[Client]) -> list[Client]:
    if answer.strip().lower() in ("", "all", "a"):
        return list(found)
    parts = [part for part in answer.replace(";", ",").split(",") if part.strip()]
    if all(part.strip().isdecimal() for part in answer.replace(",", " ").split()):
        parts = answer.replace(",", " ").split()
    names = dict.fromkeys(_one(part.strip(), found) for part in parts)
    return [CLIENTS[name] for name in names]


def _one(part: str, found: Sequence[Client]) -> str:
    if part.isdecimal():
        if not 1 <= int(part) <= len(found):
            raise ValueError(f"There is no {part} in the list.")
        return found[int(part) - 1].name
    return client_name(part)


def no_terminal(found: Sequence[Client]) -> str:
    """Say in one line what a script must say."""
    here = f"found here: {', '.join(client.name for client in found)}; " if found else ""
    return f"this is no terminal, so say which client: setup --client NAME ({here}all: {', '.join(CLIENT_NAMES)})"


def _is_here(client: Client, machine: Machine, which: Which) -> bool:
    file = client.file(machine)
    has_folder = file.parent != machine.home_folder() and Path(file.parent).is_dir()
    return has_folder or Path(file).is_file() or any(which(command) for command in client.commands)


def _has_entry(client: Client, machine: Machine, name: str) -> bool:
    try:
        return entry_of(client, read_text(Path(client.file(machine))) or "", name) is not None
    except (UnreadableConfig, UnicodeDecodeError, OSError):
        return False
