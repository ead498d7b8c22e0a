"""Entry point. Runs a command, whose modules are imported only then, and returns its exit code."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_binance_server.cli.arguments import (
    EXIT_INTERRUPTED,
    EXIT_UNREAD,
    EXIT_USAGE,
    GRPC_PORT,
    HOST,
    HTTP_PORT,
    completion,
    parse,
    parser,
)
from mcp_binance_server.cli.terminal import Verbosity, escape_unencodable
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.loading import gc_paused

if TYPE_CHECKING:
    from mcp_binance_server.cli.listening import ListenOn


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    _open_missing_descriptors()
    escape_unencodable(sys.stdout, sys.stderr)
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        return _run(parse(parser(has_commands=bool(given)), given))
    except SettingsError as error:
        print(error.message, file=sys.stderr)  # noqa: T201 - a person reads it
        return EXIT_USAGE
    except BaseExceptionGroup as group:
        # Task groups wrap errors, for example "port in use".
        known, others = group.split(SettingsError)
        if known is None or others is not None:
            raise
        print(_first(known).message, file=sys.stderr)  # noqa: T201 - as above
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_UNREAD
    finally:
        _drop_what_nobody_reads()


def _open_missing_descriptors() -> None:
    """Open closed standard streams on the null device.

    Otherwise the next opened file or socket would receive all output.
    """
    names, modes = ("stdin", "stdout", "stderr"), (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)
    for number, mode in enumerate(modes):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, names[number]) is None:
            setattr(sys, names[number], os.fdopen(number, "r" if mode == os.O_RDONLY else "w", closefd=False))


def _drop_what_nobody_reads() -> None:
    """Flush the output.

    If the reader has closed the pipe (`| head`), discard the output. Otherwise Python prints an error at exit.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def _first(group: BaseExceptionGroup[SettingsError]) -> SettingsError:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


def _run(options: argparse.Namespace) -> int:
    return COMMANDS.get(options.command, _serve)(options)


def _demo(options: argparse.Namespace) -> int:
    with gc_paused():
        from mcp_binance_server.cli.demo import run_demo  # noqa: PLC0415 - the server must not load the simulator

    port = HTTP_PORT if options.demo_port is None else options.demo_port
    port = port if options.demo_http else None
    return run_demo(Verbosity.of(options), seed=options.seed, port=port, fresh=options.fresh)


def _simulator(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.simulator import run_simulator  # noqa: PLC0415 - as above

    return run_simulator(
        port=options.port,
        scenario=options.scenario,
        seed=options.seed,
        crowd=options.crowd,
        crowd_levels=options.crowd_levels,
        contracts=options.contracts,
        replay=options.replay,
        speed=options.speed,
    )


def _guide(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.guide import run_check  # noqa: PLC0415 - as above

    return run_check(options.file)


def _ask(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.ask import run_ask  # noqa: PLC0415 - as above

    return run_ask(options)


def _setup(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.setup.run import run_setup  # noqa: PLC0415 - as above

    return run_setup(options)


def _doctor(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.doctor.examination import run_doctor  # noqa: PLC0415 - as above

    return run_doctor(options)


def _token(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.token import run_token  # noqa: PLC0415 - as above

    return run_token(options)


def _trading(options: argparse.Namespace) -> int:
    from mcp_binance_server.cli.trading.run import RUN  # noqa: PLC0415 - as above

    return RUN[options.command](options)


def _completion(options: argparse.Namespace) -> int:
    # Bytes, because a shell cannot read Windows line endings.
    sys.stdout.buffer.write(completion(options.shell).encode())
    sys.stdout.flush()
    return 0


def _serve(options: argparse.Namespace) -> int:
    verbosity = Verbosity.of(options)
    if options.http or options.sse:
        with gc_paused():
            from mcp_binance_server.cli.serve_http import run_http  # noqa: PLC0415 - stdio needs no web server

        place = _place(options, HTTP_PORT)
        if options.workers > 1:
            from mcp_binance_server.cli.workers import run_workers  # noqa: PLC0415 - needed only with --workers

            return run_workers(place, options.workers, verbosity, unsafe=options.unsafe_no_auth)
        return run_http(place, verbosity, unsafe=options.unsafe_no_auth)
    if options.grpc:
        with gc_paused():
            from mcp_binance_server.cli.serve_grpc import run_grpc  # noqa: PLC0415 - an extra that few install

        return run_grpc(_place(options, GRPC_PORT), verbosity, unsafe=options.unsafe_no_auth)
    with gc_paused():
        from mcp_binance_server.cli.serve import run_stdio  # noqa: PLC0415 - --version and --help load nothing

    return run_stdio(verbosity)


def _place(options: argparse.Namespace, usual_port: int) -> "ListenOn":
    from mcp_binance_server.cli.listening import ListenOn  # noqa: PLC0415 - not needed over stdio
    from mcp_binance_server.transports.arrival import Certificate  # noqa: PLC0415 - as above

    certificate = Certificate(Path(options.tls_cert), Path(options.tls_key)) if options.tls_cert else None
    port = usual_port if options.port is None else options.port
    return ListenOn(options.host or HOST, port, certificate, options.probe_port)


COMMANDS = {
    "demo": _demo,
    "simulator": _simulator,
    "guide": _guide,
    "ask": _ask,
    "setup": _setup,
    "doctor": _doctor,
    "token": _token,
    "journal": _trading,
    "approve": _trading,
    "stop": _trading,
    "resume": _trading,
    "cancel": _trading,
    "paper": _trading,
    "completion": _completion,
}
