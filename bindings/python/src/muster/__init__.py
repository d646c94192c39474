"""Leader election, locks by lease and node discovery: the Python face of libmuster.

    import muster

    with muster.lead("file:///srv/app", "report") as term:
        while term.valid:
            write_report(term.token)

An address names the store that decides who leads: `file:///dir`, `s3://bucket/prefix`,
`etcd://host:2379/prefix`, `muster://host:9000/prefix`, or `memory:` within one process.

Failures are `muster.Error` and its subclasses, with a `code`. Times are in seconds. Everything here may be
called from any thread, and blocks other threads of Python never. Ctrl-C interrupts every wait. Objects are of
the process that made them: a child made by fork() opens its own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import threading
import time
from types import TracebackType
from typing import Any, Callable, TypeVar

from . import _library
from ._library import Code, Error, InvalidError, TimeoutError, UnavailableError  # noqa: A004

__all__ = [
    "Arbiter", "Cluster", "Code", "Directory", "Error", "InvalidError", "Leader", "Leadership", "Lock",
    "Membership", "Node", "NodeKind", "NodeState", "Term", "TimeoutError", "UnavailableError", "lead", "version",
]

T = TypeVar("T")

_SLICE = 0.1
"""A wait in the library is cut into pieces of this length, between which Python handles signals."""


def version() -> str:
    """The version of the library that runs."""
    return _library.call("version").decode()


class _Owned:
    """An object with a handle of the library, which `with` closes."""

    _handle: _library.Handle

    def close(self) -> None:
        """Lets go of it. Again: nothing."""
        self._handle.close()

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _tls(ca_file: str | None, cert_file: str | None, key_file: str | None) -> Any:
    files = [_bytes(file) for file in (ca_file, cert_file, key_file)]
    return _library.byref(_library.TlsFiles(_library.ctypes.sizeof(_library.TlsFiles), *files))


def _bytes(text: str | None) -> bytes | None:
    if text is None:
        return None
    if "\0" in text:
        raise InvalidError(Code.INVALID, "a text must not contain the character 0")
    return text.encode()


def _in_slices(wait: Callable[[float], T | None], timeout: float | None, over: Callable[[], bool]) -> T | None:
    """Calls `wait` with short times until it returns something, the time is over, or `over` is true."""
    limit = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _SLICE if limit is None else min(_SLICE, max(0.0, limit - time.monotonic()))
        result = wait(left)
        if result is not None or over() or (limit is not None and time.monotonic() >= limit):
            return result


async def _in_thread(call: Callable[[], T]) -> T:
    """Runs a call that blocks on a thread of its own: waits may be long, and asyncio's threads are few."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def run() -> None:
        result, failed = None, None
        try:
            result = call()
        except BaseException as error:  # Whatever it is, the task that waits gets it.
            failed = error
        try:
            loop.call_soon_threadsafe(settle, result, failed)
        except RuntimeError:
            pass  # The loop is closed: nobody waits any more.

    threading.Thread(target=run, name="muster", daemon=True).start()
    return await future


class Arbiter(_Owned):
    """The store that decides who leads. One connection serves everything that is made from it."""

    def __init__(
        self, url: str, *, ca_file: str | None = None, cert_file: str | None = None, key_file: str | None = None
    ) -> None:
        """A server need not answer yet. The files are in PEM; with none of them, nothing is encrypted."""
        self.url = url
        pointer = _library.call("arbiter_open", _bytes(url), _tls(ca_file, cert_file, key_file))
        self._handle = _library.Handle("arbiter", pointer, "arbiter_free")

    def probe(self) -> None:
        """Tries whether the store keeps the promises that elections rest on; Code.UNSUPPORTED: it does not."""
        self._handle.call("arbiter_probe")


@dataclasses.dataclass(frozen=True)
class Leader:
    """A leader as last seen from here."""

    id: str
    value: str
    """What it published, an address for example."""
    token: int


class Term(_Owned):
    """One term of leadership: permission to work for as long as it is valid.

    Closing it says that the work is done, so that the lease may be released. Until then a successor waits for
    the end of the lease.

    Not guaranteed: that work has stopped when the lease ends. A process that was paused between asking `valid`
    and acting acts late. What must never happen twice carries `token` to the resource, and the resource refuses
    lower ones.
    """

    def __init__(self, handle: _library.Handle) -> None:
        self._handle = handle
        self.token: int = handle.call("term_token")
        """Higher than that of every earlier term of this election."""

    @property
    def valid(self) -> bool:
        """True while the lease holds, compared with the clock at this moment. Once false it stays false."""
        try:
            return not self._handle.closed and bool(self._handle.call("term_valid"))
        except InvalidError:
            return False  # Closed meanwhile.

    @property
    def left(self) -> float:
        """How many seconds the lease holds without another renewal; 0.0 once it has ended."""
        return self._handle.call("term_left") / 1000 if self.valid else 0.0

    def wait_stop(self, timeout: float | None = None) -> bool:
        """Waits until the work should stop; False: it need not, and the time is over."""

        def wait(left: float) -> bool | None:
            return self._handle.call("term_wait_stop", _library.milliseconds(left)) or None

        return bool(_in_slices(wait, timeout, lambda: self._handle.closed))

    async def stopping(self) -> None:
        """Waits until the work should stop."""
        await _in_thread(self.wait_stop)


class Leadership(_Owned):
    """This process's part in one election, until close(). It campaigns again after each term."""

    def __init__(
        self,
        arbiter: Arbiter,
        name: str,
        *,
        id: str | None = None,  # noqa: A002 - that is what it is called everywhere.
        value: str | None = None,
        lease: float = 6.0,
        campaigns: bool = True,
        exits_on_overrun: bool = False,
    ) -> None:
        """`id`: unique within the election; host name and process id unless given. `value`: what everybody who
        asks for the leader sees while this process leads, at most 1,024 bytes. `lease`: a leader that was silent
        for this time may be replaced. `campaigns=False`: see who leads, and never lead. `exits_on_overrun`: end
        the process with exit code 71 when its work still holds a term whose lease has ended.
        """
        self.name = name
        options = _library.LeaderOptions(
            _library.ctypes.sizeof(_library.LeaderOptions),
            _bytes(id),
            _bytes(value),
            max(1, _library.milliseconds(lease)),
            not campaigns,
            exits_on_overrun,
        )
        pointer = arbiter._handle.call("leadership_stand", _bytes(name), _library.byref(options))
        self._handle = _library.Handle("leadership", pointer, "leadership_free")
        self._stopped = False

    def wait(self, timeout: float | None = None) -> Term:
        """Waits until this process leads. TimeoutError; Code.CANCELLED once it is closed; Code.UNSUPPORTED when
        the store cannot judge an election."""

        def once(left: float) -> Term | None:
            try:
                return self._term(left)
            except TimeoutError:
                return None

        term = _in_slices(once, timeout, lambda: False)
        if term is None:
            return self._term(0)  # For its error, or a term that has just begun.
        return term

    def _term(self, seconds: float) -> Term:
        pointer = self._handle.call("leadership_wait", _library.milliseconds(seconds))
        return Term(_library.Handle("term", pointer, "term_free"))

    @property
    def leader(self) -> Leader | None:
        """The leader as last seen, this process included; None while nobody is known to lead."""
        seen = _library.LeaderSeen(_library.ctypes.sizeof(_library.LeaderSeen))
        if not self._handle.call("leadership_leader", _library.byref(seen)):
            return None
        return Leader(seen.id.decode(errors="replace"), seen.value.decode(errors="replace"), seen.token)

    def troubles(self) -> list[Error]:
        """What an operator should know and was not returned yet, the oldest first; at most 64 are kept."""
        found = []
        while pointer := self._handle.call("leadership_trouble"):
            found.append(_library.take_error(pointer))
        return found

    def step_down(self, prefer: str | None = None) -> None:
        """Hands over, to the candidate `prefer` if it lives. Code.CONFLICT: this process does not lead."""
        self._handle.call("leadership_step_down", _bytes(prefer))

    def close(self) -> None:
        """Asks the work to stop, waits until its term is closed (at most a fifth of the lease and a tenth),
        releases the lease and leaves. Ends waits of other threads. Again: nothing."""
        if not self._handle.closed:
            try:
                self._handle.call("leadership_stop")
            except InvalidError:
                return  # Another thread has closed it meanwhile.
        super().close()


class lead:  # noqa: N801 - it reads like a function.
    """Leads while the block runs: `with lead(arbiter, name) as term`, or `async with`.

    Waits until this process leads. At the end of the block the lease is released and the election is left. The
    block asks `term.valid`, or waits with `term.wait_stop()`. `arbiter` is an Arbiter or an address; `timeout`
    bounds the wait (TimeoutError); `options` are those of Leadership.
    """

    def __init__(self, arbiter: Arbiter | str, name: str, *, timeout: float | None = None, **options: Any) -> None:
        self._arbiter = arbiter
        self._name = name
        self._timeout = timeout
        self._options = options

    def _stand(self) -> Leadership:
        arbiter = self._arbiter if isinstance(self._arbiter, Arbiter) else Arbiter(self._arbiter)
        self._leadership = Leadership(arbiter, self._name, **self._options)
        return self._leadership

    def __enter__(self) -> Term:
        leadership = self._stand()
        try:
            self._term = leadership.wait(self._timeout)
        except BaseException:
            leadership.close()
            raise
        return self._term

    def __exit__(self, *_: object) -> None:
        self._term.close()
        self._leadership.close()

    async def __aenter__(self) -> Term:
        leadership = self._stand()
        try:
            self._term = await _in_thread(lambda: leadership.wait(self._timeout))
        except BaseException:
            # Also ends the wait of the thread, whose task may have been cancelled.
            await _finish(leadership.close)
            raise
        return self._term

    async def __aexit__(self, *_: object) -> None:
        self._term.close()
        await _finish(self._leadership.close)


async def _finish(call: Callable[[], None]) -> None:
    """Runs `call` to its end, though the task is cancelled meanwhile."""
    running = asyncio.ensure_future(_in_thread(call))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await running
        raise


class Lock:
    """A mutex, a semaphore or a read/write lock, held while the block runs: `with Lock(arbiter, name) as lock`, or
    `async with`. It may be taken again and again, by one thread at a time: threads make a Lock each.

    Not guaranteed: that work has stopped when the lock is lost, or an order among those that wait. What must never
    happen twice carries `token` to the resource, and the resource refuses lower ones.
    """

    def __init__(
        self,
        arbiter: Arbiter | str,
        name: str,
        *,
        ttl: float = 6.0,
        permits: int = 0,
        shared: bool | None = None,
        timeout: float | None = None,
    ) -> None:
        """`arbiter` is an Arbiter or an address. `ttl`: a holder that was silent for this time loses the lock.
        `permits`: how many may hold it at once; 1 is a mutex (the default), more is a semaphore. `shared`: a
        read/write lock, True for reading beside at most `permits` others (default: 8), False for writing alone.
        `timeout` bounds the wait (TimeoutError); 0 tries once. `permits`, and whether `shared` is given, must be
        the same in every process.
        """
        self.name = name
        self.token = 0
        """Of the last time that it was held. Rises with every holder of a mutex, and with every writer."""
        self._arbiter = arbiter
        self._timeout = timeout
        sharing = 0 if shared is None else 1 if shared else 2
        self._options = _library.LockOptions(
            _library.ctypes.sizeof(_library.LockOptions),
            max(1, _library.milliseconds(ttl)),
            permits,
            sharing,
            timeout == 0,
        )
        if self._options.permits != permits:
            raise InvalidError(Code.INVALID, f"lock {name}: {permits} is no number of permits")
        self._handle: _library.Handle | None = None

    def acquire(self) -> None:
        """Waits until the lock is held."""
        self._finish_acquiring(self._begin())

    def _begin(self) -> _library.Handle:
        if self._handle is not None and not self._handle.closed:
            raise InvalidError(Code.INVALID, f"lock {self.name} is held or waited for by this object")
        if not isinstance(self._arbiter, Arbiter):
            self._arbiter = Arbiter(self._arbiter)  # Kept, with what it knows of the lock's other holders.
        pointer = self._arbiter._handle.call("lock_acquire", _bytes(self.name), _library.byref(self._options))
        self._handle = _library.Handle("lock", pointer, "term_free")
        return self._handle

    def _finish_acquiring(self, handle: _library.Handle) -> None:
        try:
            self._wait(handle)
            self.token = handle.call("term_token")
        except BaseException:
            handle.close()
            raise

    def _wait(self, handle: _library.Handle) -> None:
        def once(left: float) -> bool | None:
            try:
                return bool(handle.call("lock_wait", _library.milliseconds(left)))
            except TimeoutError:
                return None

        if self._options.once:
            handle.call("lock_wait", -1)  # The answer comes with the first look.
        elif not _in_slices(once, self._timeout, lambda: False):
            handle.call("lock_wait", 0)  # For its error, or a lock that has just been taken.

    def release(self) -> None:
        """Unlocks, so that the next holder starts at once. Again: nothing."""
        if self._handle is not None:
            self._handle.close()

    @property
    def held(self) -> bool:
        """True while this process holds the lock, compared with the clock at this moment."""
        try:
            return self._handle is not None and not self._handle.closed and bool(self._handle.call("term_valid"))
        except InvalidError:
            return False  # Released meanwhile.

    @property
    def left(self) -> float:
        """How many seconds the lock is held without another renewal; 0.0 once it is not."""
        return self._handle.call("term_left") / 1000 if self._handle is not None and self.held else 0.0

    def wait_lost(self, timeout: float | None = None) -> bool:
        """Waits until the lock is lost; False: it was not within the time, or was released."""
        handle = self._handle
        if handle is None:
            return False

        def wait(left: float) -> bool | None:
            return handle.call("term_wait_stop", _library.milliseconds(left)) or None

        return bool(_in_slices(wait, timeout, lambda: handle.closed))

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def __aenter__(self) -> Lock:
        handle = self._begin()
        try:
            await _in_thread(lambda: self._finish_acquiring(handle))
        except BaseException:
            # Also ends the wait of the thread, whose task may have been cancelled.
            await _finish(self.release)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await _finish(self.release)


class Cluster(_Owned):
    """A cluster of musterd, which keeps a registry of nodes."""

    def __init__(
        self,
        servers: str,
        *,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
    ) -> None:
        """`servers` is "host:9000", or several with commas between. They need not answer yet."""
        pointer = _library.call("cluster_connect", _bytes(servers), _tls(ca_file, cert_file, key_file))
        self._handle = _library.Handle("cluster", pointer, "cluster_free")


class NodeKind(enum.IntEnum):
    """The kind of a node. Only object nodes hold keys."""

    UNKNOWN = 0
    FRONTEND = 1
    METADATA = 2
    OBJECT = 3


class NodeState(enum.IntEnum):
    UNKNOWN = 0
    ACTIVE = 1
    JOINING = 2
    DRAINING = 3
    """Its keys move away."""
    DOWN = 4
    SUSPECT = 5
    """Its heartbeats are late; it still holds its keys."""


@dataclasses.dataclass(frozen=True)
class Node:
    id: str
    address: str
    port: int
    kind: NodeKind = NodeKind.OBJECT
    weight: int = 1
    """Its share of the keys."""
    state: NodeState = NodeState.UNKNOWN
    """As the servers see it; join() does not look at it."""


class Membership(_Owned):
    """Keeps a node registered, by its heartbeats, until close()."""

    def __init__(self, cluster: Cluster, node: Node) -> None:
        """Returns when the node is registered, and fails with TimeoutError after 10 s."""
        record = _library.NodeRecord(
            _library.ctypes.sizeof(_library.NodeRecord),
            _fitting("id", node.id, 128),
            _fitting("address", node.address, 255),
            node.port,
            node.kind,
            node.weight,
        )
        if record.port != node.port or record.weight != node.weight:
            raise InvalidError(Code.INVALID, f"node {node.id}: the port or the weight is no number that a node has")
        pointer = cluster._handle.call("membership_join", _library.byref(record))
        self.node = node
        self._handle = _library.Handle("membership", pointer, "membership_free")


def _fitting(what: str, text: str, most: int) -> bytes | None:
    encoded = _bytes(text)
    if encoded is not None and len(encoded) > most:
        raise InvalidError(Code.INVALID, f"the {what} is longer than {most} bytes")
    return encoded


class Directory(_Owned):
    """A copy of the registry that follows every change, at hand without a request."""

    def __init__(self, cluster: Cluster) -> None:
        """Returns when the first copy is there, and fails with TimeoutError after 10 s."""
        self._handle = _library.Handle(
            "directory", cluster._handle.call("directory_follow"), "directory_free"
        )

    def nodes(self) -> list[Node]:
        """All nodes, in the order of their ids."""
        return self._fetch("directory_nodes")

    def owners(self, key: str, most: int = 64) -> list[Node]:
        """The nodes that hold a key, the primary first. The same for everybody who has the same copy."""
        return self._fetch("directory_owners", _bytes(key))[:most]

    def _fetch(self, function: str, *arguments: Any) -> list[Node]:
        room = 64
        while True:
            records = (_library.NodeRecord * room)()
            size = _library.ctypes.sizeof(_library.NodeRecord)
            count = self._handle.call(function, *arguments, records, size, room)
            if count <= room:
                return [_node(record) for record in records[:count]]
            room = count * 2


def _node(record: _library.NodeRecord) -> Node:
    return Node(
        record.id.decode(),
        record.address.decode(),
        record.port,
        NodeKind(record.kind),
        record.weight,
        NodeState(record.state),
    )
