"""The shared library behind the package: the functions of muster/c.h as ctypes calls them."""

from __future__ import annotations

import ctypes
import enum
import os
import pathlib
import threading
from ctypes import POINTER, Structure, byref, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint16
from ctypes import c_uint32, c_uint64, c_void_p
from typing import Any, Callable

ABI = 2
"""The oldest library that has every function used here, as muster_abi() counts."""


class Code(enum.IntEnum):
    """Why something failed. The numbers never change."""

    NOT_FOUND = 1
    UNCHANGED = 2
    CONFLICT = 3
    AMBIGUOUS = 4
    THROTTLED = 5
    UNAVAILABLE = 6
    DENIED = 7
    UNSUPPORTED = 8
    INVALID = 9
    CORRUPT = 10
    CANCELLED = 11
    TIMEOUT = 12


class Error(Exception):
    """A failure: `code` says which kind, the text what to do about it."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class TimeoutError(Error, TimeoutError):  # noqa: A001 - it is one.
    """It did not happen within the time that the caller gave."""


class InvalidError(Error, ValueError):
    """An argument is wrong, or the call is not allowed here."""


class UnavailableError(Error, ConnectionError):
    """The store or the servers cannot be reached now."""


_CLASSES = {Code.TIMEOUT: TimeoutError, Code.INVALID: InvalidError, Code.UNAVAILABLE: UnavailableError}


def failure(code: int, message: str) -> Error:
    known = Code(code)
    return _CLASSES.get(known, Error)(known, message)


class TlsFiles(Structure):
    _fields_ = [("size", c_size_t), ("ca_file", c_char_p), ("cert_file", c_char_p), ("key_file", c_char_p)]


class LeaderOptions(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("id", c_char_p),
        ("value", c_char_p),
        ("lease", c_int64),
        ("only_watches", c_bool),
        ("exits_on_overrun", c_bool),
    ]


class LockOptions(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("ttl", c_int64),
        ("permits", c_uint32),
        ("sharing", c_int),
        ("once", c_bool),
    ]


class LeaderSeen(Structure):
    _fields_ = [("size", c_size_t), ("token", c_uint64), ("id", c_char * 129), ("value", c_char * 1025)]


class NodeRecord(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("id", c_char * 129),
        ("address", c_char * 256),
        ("port", c_uint16),
        ("kind", c_int),
        ("weight", c_uint32),
        ("state", c_int),
    ]


_ERROR = POINTER(c_void_p)
# Name: (what it returns, its arguments). Those that may fail end with _ERROR.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "abi": (c_int, []),
    "error_code": (c_int, [c_void_p]),
    "error_message": (c_char_p, [c_void_p]),
    "error_free": (None, [c_void_p]),
    "arbiter_open": (c_void_p, [c_char_p, POINTER(TlsFiles), _ERROR]),
    "arbiter_probe": (c_bool, [c_void_p, _ERROR]),
    "arbiter_free": (None, [c_void_p]),
    "leadership_stand": (c_void_p, [c_void_p, c_char_p, POINTER(LeaderOptions), _ERROR]),
    "leadership_wait": (c_void_p, [c_void_p, c_int64, _ERROR]),
    "leadership_leader": (c_bool, [c_void_p, POINTER(LeaderSeen)]),
    "leadership_trouble": (c_void_p, [c_void_p]),
    "leadership_step_down": (c_bool, [c_void_p, c_char_p, _ERROR]),
    "leadership_stop": (c_bool, [c_void_p, _ERROR]),
    "leadership_free": (None, [c_void_p]),
    "term_valid": (c_bool, [c_void_p]),
    "term_token": (c_uint64, [c_void_p]),
    "term_left": (c_int64, [c_void_p]),
    "term_wait_stop": (c_bool, [c_void_p, c_int64]),
    "term_free": (None, [c_void_p]),
    "lock_acquire": (c_void_p, [c_void_p, c_char_p, POINTER(LockOptions), _ERROR]),
    "lock_wait": (c_bool, [c_void_p, c_int64, _ERROR]),
    "cluster_connect": (c_void_p, [c_char_p, POINTER(TlsFiles), _ERROR]),
    "cluster_free": (None, [c_void_p]),
    "membership_join": (c_void_p, [c_void_p, POINTER(NodeRecord), _ERROR]),
    "membership_free": (None, [c_void_p]),
    "directory_follow": (c_void_p, [c_void_p, _ERROR]),
    "directory_nodes": (c_size_t, [c_void_p, POINTER(NodeRecord), c_size_t, c_size_t]),
    "directory_owners": (c_size_t, [c_void_p, c_char_p, POINTER(NodeRecord), c_size_t, c_size_t]),
    "directory_free": (None, [c_void_p]),
}


def _candidates() -> list[str]:
    """Where the library may be: as the environment says, beside this file in a wheel, on this machine."""
    named = os.environ.get("MUSTER_LIBRARY")
    if named:
        return [named]
    beside = pathlib.Path(__file__).with_name("lib") / "libmuster.so.0"
    return ([str(beside)] if beside.exists() else []) + ["libmuster.so.0"]


def _load() -> dict[str, Any]:
    path = _candidates()[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{path} cannot be loaded ({error}); install the package libmuster0, or name the library in "
            "MUSTER_LIBRARY"
        ) from error
    functions = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, f"muster_{name}", None)
        if function is None:
            raise ImportError(f"{path} is too old: it has no muster_{name}")
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    if functions["abi"]() < ABI:
        raise ImportError(f"{path} is too old for this package")
    return functions


_functions = _load()


def take_error(pointer: int) -> Error:
    """Makes an exception of a muster_error, and frees that."""
    try:
        message = _functions["error_message"](pointer).decode(errors="replace")
        return failure(_functions["error_code"](pointer), message)
    finally:
        _functions["error_free"](pointer)


def call(name: str, *arguments: Any) -> Any:
    """Calls a function of muster/c.h. If it reports an error, that is raised."""
    function = _functions[name]
    if not function.argtypes or function.argtypes[-1] is not _ERROR:
        return function(*arguments)
    error = c_void_p()
    result = function(*arguments, byref(error))
    if error.value:
        raise take_error(error.value)
    return result


class Handle:
    """An object of the library. It is freed by close(), once no other thread is in a call with it.

    A child made by fork() has no threads of the library: there a handle is of no use, and is not freed.
    """

    def __init__(self, what: str, pointer: int, free: str) -> None:
        self._what = what
        self._pointer = pointer
        self._free = free
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._users = 0
        self._closed = False

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function with this object as its first argument."""
        return self.use(lambda pointer: call(name, pointer, *arguments))

    def use(self, work: Callable[[int], Any]) -> Any:
        if os.getpid() != self._process:
            raise failure(Code.INVALID, f"the {self._what} is of process {self._process}: open it in this one")
        with self._mutex:
            if self._closed:
                raise failure(Code.INVALID, f"the {self._what} is closed")
            self._users += 1
        try:
            return work(self._pointer)
        finally:
            with self._mutex:
                self._users -= 1
                last = self._closed and self._users == 0
            if last:
                call(self._free, self._pointer)

    @property
    def closed(self) -> bool:
        return self._closed or os.getpid() != self._process

    def close(self) -> None:
        """Frees the object; again: nothing. In a child of the process that made it: nothing."""
        if os.getpid() != self._process:
            return
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            unused = self._users == 0
        if unused:
            call(self._free, self._pointer)

    def __del__(self) -> None:
        self.close()


def milliseconds(seconds: float | None) -> int:
    """A time as the library takes it; None means for ever."""
    if seconds is None:
        return -1
    return max(0, min(round(seconds * 1000), 2**62))
