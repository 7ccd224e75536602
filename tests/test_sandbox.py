"""The sandbox: what crosses, what is compared, and what a hostile process can reach."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import fractions
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, OrderedDict, deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veredicto_verifier.errors import InfraFault, LimitExceeded
from veredicto_verifier.sandbox import codec, launcher, meter
from veredicto_verifier.sandbox.channel import BadFrame, FrameReader, FrameTooLarge, pack, unpack
from veredicto_verifier.sandbox.compare import Tolerance, same_output, same_value
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.policy import capabilities, readable_paths
from veredicto_verifier.sandbox.process import Child, OutputLimit, Quota, drive

MIB = 1024 * 1024
SAME_PATH = {"PYTHONPATH": os.pathsep.join([str(Path(codec.__file__).resolve().parents[2]), *sys.path])}


def not_plain(value: Any) -> list[Any]:
    return ["o", 7, type(value).__name__]


def over(value: Any) -> Any:
    form = json.loads(json.dumps(codec.encode(value, not_plain)))
    return codec.decode(form, lambda form: codec.Opaque(form[1], form[2]))


hashables = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.binary(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
)
values = st.recursive(
    hashables,
    lambda inner: st.one_of(
        st.lists(inner),
        st.tuples(inner, inner),
        st.sets(hashables),
        st.frozensets(hashables),
        st.dictionaries(hashables, inner),
    ),
    max_leaves=20,
)


@given(values)
@settings(max_examples=200, deadline=None)
def test_a_plain_value_crosses_with_its_type(value: Any) -> None:
    there = over(value)
    assert there == value
    assert type(there) is type(value)
    assert same_value(value, there, Tolerance(strict_types=True, float_rel=0.0))


@pytest.mark.parametrize(
    "value",
    [
        2**200,
        -(2**53) - 1,
        float("inf"),
        "\ud83d",
        bytearray(b"\0\xff"),
        1 - 2j,
        range(1, 10, 3),
        slice(None, 3),
        fractions.Fraction(-1, 3),
        decimal.Decimal("1E+5"),
        datetime.date(2026, 11, 30),
        datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC),
        datetime.time(1, 2, 3, 4),
        datetime.timedelta(days=-1, microseconds=5),
        Counter("aab"),
        OrderedDict([(1, 2)]),
        deque([1, 2], maxlen=3),
        int,
    ],
)
def test_a_library_value_crosses(value: Any) -> None:
    there = over(value)
    assert there == value
    assert type(there) is type(value)


class Sly(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value", [Sly(3), object(), len, lambda: None, ValueError(), (n for n in ()), type("T", (), {})]
)
def test_what_is_not_exactly_plain_stays_opaque(value: Any) -> None:
    assert type(over(value)) is codec.Opaque
    assert type(over([value])[0]) is codec.Opaque
    for expected in (3, None, [7, "Sly"], [7, type(value).__name__], {}, ""):
        assert not same_value(expected, over(value), Tolerance())


def test_a_cycle_and_a_bomb_are_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    bomb: list[Any] = []
    for _ in range(60):
        bomb = [bomb, bomb]
    for value in (cycle, bomb):
        with pytest.raises(codec.CodecError):
            codec.encode(value, not_plain)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["i", "b", "l", "d", "D", "dt", "q", "T", "r"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


@given(json_values)
@settings(max_examples=300, deadline=None)
def test_any_json_decodes_or_is_a_codec_error(form: Any) -> None:
    def refuse(_form: list[Any]) -> Any:
        raise codec.CodecError("unknown tag")

    with contextlib.suppress(codec.CodecError):
        codec.decode(form, refuse)


@given(st.lists(st.lists(st.text()), max_size=5), st.data())
def test_frames_survive_any_cutting(messages: list[list[str]], data: st.DataObject) -> None:
    sent = [["m", *message] for message in messages]
    stream = b"".join(pack(message) for message in sent)
    reader = FrameReader()
    got = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        got += [unpack(frame) for frame in reader.feed(stream[:size])]
        stream = stream[size:]
    assert got == sent


def test_a_huge_frame_is_refused_at_its_header() -> None:
    with pytest.raises(FrameTooLarge):
        FrameReader().feed(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"[1]", b"\xff", b"[" * 100_000, b"1" * 5000])
def test_a_frame_that_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(BadFrame):
        unpack(body)


@pytest.mark.parametrize(
    ("expected", "got", "loose", "strict"),
    [
        (1, 1.0, True, False),
        (1, True, True, False),
        ([1, 2], (1, 2), True, False),
        ([1, [2]], [1, (2,)], True, False),
        ([1, 2], [2, 1], False, False),
        ({"a": 1}, {"a": 1.0}, True, False),
        ({"a": 1}, {"a": 1, "b": 2}, False, False),
        ({1}, {1}, True, True),
        ({1}, [1], False, False),
        ("1", 1, False, False),
        (None, 0, False, False),
        (None, None, True, True),
        (float("nan"), float("nan"), True, True),
        (1.5, float("nan"), False, False),
        (0.3, 0.1 + 0.2, True, True),
        (0.3, 0.3001, False, False),
        (1.0, 10**400, False, False),
        (2**60, 2**60 + 1, False, False),
        (b"a", "a", False, False),
        ({"a": 1}, Counter("a"), True, False),
    ],
)
def test_values_compare_as_documented(expected: Any, got: Any, loose: bool, strict: bool) -> None:
    assert same_value(expected, got, Tolerance()) is loose
    assert same_value(expected, got, Tolerance(strict_types=True)) is strict


@pytest.mark.parametrize(
    ("mode", "expected", "got", "same"),
    [
        ("tokens", b"1 2\n3\n", b"  1\n2 3", True),
        ("tokens", b"Yes", b"yes", False),
        ("lines", b"a\nb\n", b"a  \r\nb\n\n\n", True),
        ("lines", b"a\nb\n", b"a\n\nb\n", False),
        ("exact", b"a\n", b"a", False),
        ("exact", b"a\n", b"a\n", True),
        ("unordered_lines", b"a\nb\n", b"b\na\n", True),
        ("unordered_lines", b"a\na\nb\n", b"a\nb\nb\n", False),
        ("float", b"0.5 x", b"0.5000000001 x", True),
        ("float", b"0.5", b"nan", False),
        ("float", b"0.5", b"inf", False),
        ("float", b"5", b"5.0", False),
        ("float", b"1e3", b"1000", True),
        ("float", b"10.0", b"1_0.0", False),
        ("float", b"0.5 1", b"0.5", False),
    ],
)
def test_output_compares_as_documented(mode: Any, expected: bytes, got: bytes, same: bool) -> None:
    assert same_output(expected, got, mode, Tolerance(float_rel=1e-6)) is same


def ask(program: str, *, cpu_s: float = 5.0, wall_s: float = 20.0, memory_mb: int = 256) -> Any:
    """What `f()` of a program returns, from inside the sandbox."""
    with Child(Quota(cpu_s, memory_mb * MIB)) as child:
        meter = Meter([child.pid], cpu_s=cpu_s, wall_s=wall_s)
        for request in (["load", 1, "", program, "f"], ["call", 2, "f", [], {}]):
            child.link.send(request)
            drive([child], [meter], lambda: child.link.arrived or not child.link.open)
            if not child.link.arrived:
                return child.post_mortem()
            reply = child.link.take()
        return codec.decode(reply[2], lambda form: form) if reply[0] == "value" else reply


REACH = Path(__file__).parent / "exploits"


@pytest.mark.parametrize("path", sorted(REACH.glob("*.py")), ids=lambda path: path.stem)
def test_an_escape_is_refused_and_the_next_program_is_unaffected(path: Path) -> None:
    assert ask(path.read_text(encoding="utf-8")) == "contained"
    assert ask("def f():\n    return 41 + 1") == 42


def test_a_program_cannot_read_the_service_the_tests_or_its_own_judge() -> None:
    paths = [
        __file__,
        codec.__file__,
        f"/proc/{os.getpid()}/environ",
        "/etc/passwd",
        "/proc/self/maps",
        pytest.__file__,
    ]
    program = f"""
def f():
    readable = []
    for path in {paths!r}:
        try:
            open(path, "rb").close()
            readable.append(path)
        except PermissionError:
            pass
    return readable
"""
    assert ask(program) == []


def test_nothing_readable_holds_the_service_or_third_party_packages() -> None:
    package = Path(codec.__file__).resolve()
    inside = [path for path in readable_paths() if package.is_relative_to(path.resolve())]
    assert inside == []
    assert not any("site-packages" in path.parts or "dist-packages" in path.parts for path in readable_paths())


def test_a_candidate_holds_no_file_descriptor_but_its_own_pipes() -> None:
    secret = os.open(__file__, os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        held = ask("import os\ndef f():\n    return [n for n in range(200) if _open(n)]\n" + _OPEN)
    finally:
        os.close(secret)
    assert held == [0, 1, 2, 3]


_OPEN = """
def _open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False
"""


def test_the_environment_is_clean_and_the_hash_seed_fixed() -> None:
    os.environ["VEREDICTO_SECRET_FOR_TEST"] = "x"
    try:
        program = "import os\ndef f():\n    return [sorted(os.environ), hash('a')]"
        first, second = ask(program), ask(program)
    finally:
        del os.environ["VEREDICTO_SECRET_FOR_TEST"]
    assert first == second
    assert "VEREDICTO_SECRET_FOR_TEST" not in first[0]


def test_a_program_that_never_ends_is_stopped_by_cpu_and_a_sleeper_by_wall() -> None:
    with pytest.raises(LimitExceeded, match="cpu"):
        ask("def f():\n    while True: pass", cpu_s=0.2)
    with pytest.raises(LimitExceeded, match="wall"):
        ask("import time\ndef f():\n    time.sleep(60)", wall_s=0.3)


def checked_until_it_raises(patient: Meter) -> BaseException:
    try:
        while True:
            patient.check()
    except (LimitExceeded, InfraFault) as error:
        return error


def test_waiting_for_a_core_is_not_charged_and_too_much_of_it_is_our_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.monotonic()
    # What the kernel would count for a process that never gets a core.
    monkeypatch.setattr(meter, "queue_wait_s", lambda _pid: time.monotonic() - started)
    starved = checked_until_it_raises(Meter([os.getpid()], cpu_s=1000, wall_s=0.01))
    assert isinstance(starved, InfraFault)
    assert starved.code == "infra.starved"
    monkeypatch.setattr(meter, "queue_wait_s", lambda _pid: 0.0)
    late = checked_until_it_raises(Meter([os.getpid()], cpu_s=1000, wall_s=0.01))
    assert isinstance(late, LimitExceeded)


def test_waiting_of_whatever_a_script_starts_is_not_charged_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.monotonic()
    monkeypatch.setattr(meter, "queue_wait_s", lambda pid: 0.0 if pid == os.getpid() else time.monotonic() - started)
    with subprocess.Popen(["sleep", "60"]) as script:
        try:
            starved = checked_until_it_raises(meter.TreeMeter(os.getpid(), cpu_s=1000, wall_s=0.01))
        finally:
            script.kill()
    assert isinstance(starved, InfraFault)


def test_the_kernel_stops_what_the_judge_would_miss() -> None:
    with Child(Quota(0.1, 64 * MIB)) as child:
        child.link.send(
            ["load", 1, "", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", None]
        )
        patient = Meter([child.pid], cpu_s=60, wall_s=60)
        drive([child], [patient], lambda: not child.link.open)
        with pytest.raises(LimitExceeded, match="cpu"):
            child.post_mortem()


def test_a_flood_of_output_is_cut() -> None:
    with pytest.raises(OutputLimit):
        ask("def f():\n    while True: print('x' * 10000)")


def test_output_below_the_cap_never_blocks_a_program() -> None:
    assert ask("import sys\ndef f():\n    sys.stderr.write('x' * 1000000)\n    print('y' * 1000000)\n    return 1") == 1


def test_a_child_killed_from_outside_is_our_failure() -> None:
    with Child(Quota(5, 64 * MIB)) as child:
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(InfraFault):
            child.post_mortem()


def test_many_children_leave_no_descriptor_and_no_zombie() -> None:
    assert ask("def f():\n    return 1") == 1
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(60):
        assert ask("def f():\n    return 1") == 1
    assert len(os.listdir("/proc/self/fd")) <= before + 2 * launcher.NUM_PARKED
    zygote = launcher._ZYGOTES["python"]
    children = Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text().split()
    assert len(children) <= launcher.NUM_PARKED + 2


def test_a_worn_zygote_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("def f():\n    return 1") == 1
    first = launcher._ZYGOTES["python"]
    monkeypatch.setattr(launcher, "RECYCLE_AFTER", 1)
    assert ask("def f():\n    return 2") == 2
    assert launcher._ZYGOTES["python"] is not first
    assert first.broken


def test_a_killed_zygote_is_our_failure_and_the_next_program_runs() -> None:
    with Child(Quota(5, 64 * MIB)) as child:
        os.kill(launcher._ZYGOTES["python"].pid, signal.SIGKILL)
        child.link.send(["load", 1, "", "def f(): return 1", "f"])
        patient = Meter([child.pid], cpu_s=60, wall_s=60)
        drive([child], [patient], lambda: child.exited)
        with pytest.raises(InfraFault):
            child.post_mortem()
    with contextlib.suppress(InfraFault):  # the first to ask the dead one learns of it
        ask("def f():\n    return 1")
    assert ask("def f():\n    return 2") == 2


def test_neither_a_later_program_nor_the_zygote_holds_what_an_earlier_one_got() -> None:
    secret = "xyzzy-" + os.urandom(8).hex()
    assert ask(f"SECRET = {secret!r}\ndef f():\n    return len(SECRET)") == len(secret)
    scan = """
import gc
def f():
    held = [o for o in gc.get_objects() if type(o) in (str, list, dict, tuple, bytes)]
    return sum("".join(["xyzzy", "-"]) in str(o) for o in held)
"""
    assert ask(scan) == 0
    zygote = launcher._ZYGOTES["python"]
    assert _memory_holds(os.getpid(), secret.encode())
    assert not _memory_holds(zygote.pid, secret.encode())


def _memory_holds(pid: int, needle: bytes) -> bool:
    """Look through all memory of a process; only root may, for anyone else the kernel's refusal is the proof."""
    try:
        fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    except PermissionError:
        return False
    with open(fd, "rb", buffering=0) as memory, open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "rw" not in line or end - start > 1 << 28:
                continue
            memory.seek(start)
            with contextlib.suppress(OSError):
                if needle in memory.read(end - start):
                    return True
    return False


def test_a_program_that_replaces_builtins_changes_only_its_own() -> None:
    program = """
import builtins
builtins.len = lambda *a: 3
builtins.isinstance = lambda *a: True
def f():
    return [len([]), isinstance(1, str), builtins.len("")]
"""
    assert ask(program) == [3, True, 3]


def test_what_a_program_said_before_it_died_is_read_whatever_the_timing() -> None:
    program = """
import os, struct
def f():
    body = b'["value",2,"early",[]]'
    os.write(3, struct.pack(">I", len(body)) + body)
    os._exit(0)
"""
    assert {ask(program) for _ in range(10)} == {"early"}


def test_a_candidate_dies_with_its_judge() -> None:
    judge = """
import sys
from veredicto_verifier.sandbox.process import Child, Quota
child = Child(Quota(60, 2**26))
print(child.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", judge],
        env={**os.environ, **SAME_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        candidate = int(process.stdout.readline())
        pidfd = os.pidfd_open(candidate)
        process.kill()
    try:
        import select

        assert select.select([pidfd], [], [], 30)[0], "the candidate outlived its judge"
    finally:
        os.close(pidfd)


def test_without_a_wall_nothing_starts_unless_told_otherwise() -> None:
    script = """
import os, sys
import landlockpy
landlockpy.abi_version = lambda: 0
from veredicto_verifier.errors import InfraFault
from veredicto_verifier.sandbox.policy import capabilities
from veredicto_verifier.sandbox.process import Child, Quota
level = capabilities()["isolation"]
try:
    with Child(Quota(5, 2**26)):
        print(level, "started")
except InfraFault as fault:
    print(level, "refused", "Landlock" in str(fault))
"""

    def told(extra: dict[str, str]) -> str:
        environment = {**os.environ, **SAME_PATH, **extra}
        return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True).stdout

    assert told({}) == "refused refused True\n"
    assert told({"VEREDICTO_SANDBOX_DEGRADED": "1"}) == "degraded started\n"


def test_capabilities_name_the_level() -> None:
    found = capabilities()
    assert found["isolation"] in ("landlock+seccomp", "degraded", "refused")
    assert (found["isolation"] == "landlock+seccomp") == (found["landlock_abi"] > 0 and found["seccomp"])
