"""Test runs in forked processes. Tests are collected once, and code is patched only in memory."""

import gc
import importlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from select import select
from time import perf_counter
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import NoReturn, TypeAlias, TypeVar

import hypothesis
import pytest

from mutation.mutant import Mutant
from mutation.python import SourceFile
from mutation.targets import CALLER_OF_SCRIPTS, PACKAGE, ROOT
from mutation.texts import ScriptFile

Told = TypeVar("Told")
Trace: TypeAlias = "Callable[[FrameType, str, object], Trace]"
Line = tuple[str, int]
Source = SourceFile | ScriptFile

# Timeout of a child, absolute and as a multiple of the tests' normal time: a mutant can wait forever.
LEAST_WAIT_SECS, TIMES_SLOWER = 6.0, 3.0
# Skip longer tests, and tests beyond the total for one mutant. A mutant may survive because of this.
LONGEST_TEST_SECS, LONGEST_TOTAL_SECS = 2.0, 10.0
LEFT_OUT = ("slow", "alone", "needs")
PLUGINS_WITHOUT = ("terminal", "cacheprovider", "randomly", "xdist")
OPTIONS = (
    *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-o", "addopts="),
    *("--import-mode=importlib", "--assert=plain", "-s"),
    *(word for name in PLUGINS_WITHOUT for word in ("-p", f"no:{name}")),
)


@dataclass(frozen=True, slots=True)
class TestRun:
    """One test run of the original code: its duration, and the executed lines of the files to mutate."""

    __test__ = False
    nodeid: str
    secs: float
    lines: frozenset[Line]


@dataclass
class Coverage:
    """The tests that execute a line. Specific and fast tests come first."""

    runs: list[TestRun]
    modules: list[str]
    failed: list[str] = field(default_factory=list[str])

    def of(self, mutant: Mutant) -> list[TestRun]:
        path = str(mutant.path)
        if mutant.reach == "script":
            path = str(CALLER_OF_SCRIPTS)
            found = [each for each in self.runs if "redis" in each.nodeid and any(at == path for at, _ in each.lines)]
        elif mutant.reach == "module":
            found = [each for each in self.runs if any(at == path for at, _ in each.lines)]
        else:
            found = self._reaching(path, range(mutant.first_line, mutant.last_line + 1))
            # The tracer sees no line for a jump, and a RecursionError stops the tracer.
            found = found or self._reaching(path, mutant.around)
        return _within_time(sorted(found, key=lambda each: each.secs * (20 + len(each.lines))))

    def _reaching(self, path: str, numbers: range) -> list[TestRun]:
        lines = {(path, number) for number in numbers}
        return [each for each in self.runs if not lines.isdisjoint(each.lines)]


def _within_time(runs: Iterable[TestRun]) -> list[TestRun]:
    chosen: list[TestRun] = []
    left = LONGEST_TOTAL_SECS
    for each in runs:
        left -= each.secs
        if left < 0:
            break
        chosen.append(each)
    return chosen


def forked(work: Callable[[], Told], longest_secs: float, *, silent: bool = True) -> Told | None:
    """Return the result of `work` in a forked process, or None on a timeout.

    With `silent` the child leads a process group. The whole group is killed at the end, for example a state server
    that the tests have started.
    """
    sys.stdout.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(work, writer, silent=silent)
    os.close(writer)
    try:
        told = _heard(reader, longest_secs)
    finally:
        os.killpg(child, signal.SIGKILL) if _leads(child) else os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return pickle.loads(told) if told else None  # noqa: S301 - written by our own child


def _leads(child: int) -> bool:
    try:
        return os.getpgid(child) == child
    except ProcessLookupError:
        return False


def _child(work: Callable[[], object], writer: int, *, silent: bool) -> NoReturn:
    status = 1
    try:
        if silent:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
        told = pickle.dumps(work())
        with os.fdopen(writer, "wb") as line:
            line.write(told)
        status = 0
    except BaseException:
        if not silent:
            traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(status)


def _heard(reader: int, longest_secs: float) -> bytes:
    ends, told = perf_counter() + longest_secs, b""
    with os.fdopen(reader, "rb", buffering=0) as line:
        while (left := ends - perf_counter()) > 0:
            if not select([line], [], [], left)[0]:
                break
            if not (piece := line.read(1 << 20)):
                return told
            told += piece
    return b""


class WarmSuite:
    """Pytest plugin that collects the tests once. `work` replaces the test loop."""

    def __init__(self, work: Callable[["WarmSuite"], None]) -> None:
        self._work = work
        self._items: dict[str, pytest.Item] = {}
        self._failed = False
        self._skipped = False
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}

    @pytest.hookimpl
    def pytest_configure(self) -> None:
        use_hypothesis_without_shrinking()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {each.nodeid: each for each in session.items if not any(map(each.get_closest_marker, LEFT_OUT))}
        self._work(self)
        return True

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed
        self._skipped = self._skipped or report.skipped

    def covered(self, paths: Iterable[Path]) -> Coverage:
        """Run each test once and record the executed lines. Then import the modules that tests import late."""
        found: Coverage | None = forked(lambda: self._traced({str(each) for each in paths}), 3_600, silent=False)
        if found is None:
            raise SystemExit("the tests fail without a change")
        _load(found.modules)
        self._functions = live_functions({str(each) for each in paths})
        return found

    def survives(self, source: Source, mutant: Mutant, runs: Sequence[TestRun]) -> bool | None:
        """Run tests with one change. Return whether they pass, or None on a timeout."""

        def run() -> bool:
            if isinstance(source, SourceFile):
                patch_functions(self._functions, source, mutant)
            else:
                patch_scripts(source, mutant)
            return self._passes([self._items[each.nodeid] for each in runs])

        longest = LEAST_WAIT_SECS + TIMES_SLOWER * sum(each.secs for each in runs)
        return forked(run, longest)

    def _passes(self, items: Sequence[pytest.Item]) -> bool:
        self._failed = False
        for at, item in enumerate(items):
            following = items[at + 1] if at + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                # Tear down the session's fixtures, such as a state server and its folder.
                setup = items[0].session._setupstate  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                setup.teardown_exact(None)
                return False
        return True

    def _traced(self, paths: set[str]) -> Coverage:
        lines: set[Line] = set()

        def within(frame: FrameType, event: str, _told: object) -> Trace:
            if event == "line":
                lines.add((frame.f_code.co_filename, frame.f_lineno))
            return within

        def entered(frame: FrameType, _event: str, _told: object) -> "Trace | None":
            if frame.f_code.co_filename not in paths:
                return None
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return within

        coverage = Coverage([], [])
        items = [*self._items.values()]
        threading.settrace(entered)
        for at, item in enumerate(items):
            lines.clear()
            self._failed = self._skipped = False
            following = items[at + 1] if at + 1 < len(items) else None
            began = perf_counter()
            sys.settrace(entered)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.settrace(None)
            secs = perf_counter() - began
            if self._failed:
                coverage.failed.append(item.nodeid)
            elif lines and not self._skipped and secs <= LONGEST_TEST_SECS:
                coverage.runs.append(TestRun(item.nodeid, secs, frozenset(lines)))
        coverage.modules = [name for name in sys.modules if _is_shared(name)]
        return coverage


def _is_shared(name: str) -> bool:
    return not name.startswith(("__", "tests.", "conftest"))


def load_libraries(names: Iterable[str]) -> None:
    """Import the tests' third-party modules once, so that the children need not do it."""
    ours = {"mcp_binance_server", *(each.stem for folder in ("tests", "scripts") for each in (ROOT / folder).iterdir())}
    _load(each for each in names if each.partition(".")[0] not in ours)


def _load(names: Iterable[str]) -> None:
    for name in names:
        with suppress(Exception):  # a module that can only be imported inside a test
            importlib.import_module(name)


def use_hypothesis_without_shrinking() -> None:
    """Use the same examples in every run. Disable shrinking, which is useless here."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.target)
    hypothesis.settings.register_profile("mutants", derandomize=True, deadline=None, database=None, phases=phases)
    hypothesis.settings.load_profile("mutants")


def live_functions(paths: set[str]) -> dict[tuple[str, str, int], list[FunctionType]]:
    """Return all function objects of the files in this process, including those that other objects reference."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in paths:
            code = each.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(each)
    gc.freeze()
    return found


def codes_of(code: CodeType) -> Iterable[CodeType]:
    """Yield the code objects of a module, including nested ones."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


def patch_functions(live: dict[tuple[str, str, int], list[FunctionType]], source: SourceFile, mutant: Mutant) -> None:
    """Replace the code of existing functions with the mutant's code."""
    whole = {(each.co_qualname, each.co_firstlineno): each for each in codes_of(source.compiled())}
    for code in codes_of(source.compiled(mutant)):
        name = (code.co_qualname, code.co_firstlineno)
        if code == whole.get(name):
            continue
        for function in live.get((str(source.path), *name), ()):
            function.__code__ = code


def patch_scripts(source: ScriptFile, mutant: Mutant) -> None:
    """Replace the text of scripts that contain the mutated file."""
    from mcp_binance_server.state.redis import keys  # noqa: PLC0415 - needs an extra

    for held in vars(keys).values():
        if isinstance(held, keys.Script) and source.text in held.text:
            changed = keys.Script.of(held.text.replace(source.text, source.changed[mutant.site]))
            object.__setattr__(held, "text", changed.text)
            object.__setattr__(held, "sha", changed.sha)


class MutantFinder:
    """Import hook that compiles one module of the package from the mutant's syntax tree."""

    def __init__(self, source: SourceFile, mutant: Mutant | None) -> None:
        self._source, self._mutant = source, mutant
        inside = source.path.relative_to(PACKAGE.parent).with_suffix("")
        self._name = ".".join(inside.parts)

    def find_spec(self, name: str, _path: object = None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        source, mutant = self._source, self._mutant

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the base's signature
                return source.compiled(mutant)

        return spec_from_file_location(name, source.path, loader=Loader(name, str(source.path)))


def survives_cold(source: SourceFile, mutant: Mutant | None, runs: Sequence[TestRun]) -> bool | None:
    """Run tests in a process that has not imported the package.

    Values that are computed at import cannot be patched.
    """

    class Profile:
        @pytest.hookimpl
        def pytest_configure(self) -> None:
            use_hypothesis_without_shrinking()

    def run() -> bool:
        sys.meta_path.insert(0, MutantFinder(source, mutant))
        return pytest.main([*OPTIONS, "-x", *(each.nodeid for each in runs)], plugins=[Profile()]) == 0

    longest = 3 * LEAST_WAIT_SECS + TIMES_SLOWER * sum(each.secs for each in runs)
    return forked(run, longest)
