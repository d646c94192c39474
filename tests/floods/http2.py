"""HTTP/2 by hand: what no decent client sends."""

import socket
import ssl
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1
INITIAL_WINDOW_SIZE = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, content=b""):
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


def text(string):
    size = len(string)
    if size < 127:
        return bytes([size]) + string.encode()
    size -= 127
    more = b""
    while size >= 128:
        more += bytes([128 | size & 127])
        size >>= 7
    return b"\x7f" + more + bytes([size]) + string.encode()


def literal(name, value, kind=0):
    """A header that is written out, and not remembered."""
    return bytes([kind]) + text(name) + text(value)


def remembered(path):
    """A request whose headers the other side is to remember, and the same one in six bytes from then on."""
    headers = [(":path", path), (":authority", "x"), ("te", "trailers"), ("content-type", "application/grpc")]
    post = b"\x83\x87"
    return post + b"".join(literal(*each, 0x40) for each in headers), post + bytes([0xC1, 0xC0, 0xBF, 0xBE])


def request(path, extra=()):
    headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"), ("te", "trailers"),
               ("content-type", "application/grpc"), *extra]
    return b"".join(literal(name, value) for name, value in headers)


def message(content, flag=0):
    return bytes([flag]) + struct.pack(">I", len(content)) + content


class Connection:
    """To the server at host:port, from an address of this machine, so that clients can be told apart."""

    def __init__(self, address, source, settings=b"", tls=None, receive_buffer=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.socket()
        self.socket.settimeout(20)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.bind((source, 0))
        self.socket.connect((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.bytes = b""
        self.next = 1
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def flood(self, chunks):
        """Sends until all was sent or the server has had enough, and waits for it to hang up."""
        try:
            for chunk in chunks:
                self.send(chunk)
            while self.socket.recv(65536):
                pass
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass
        finally:
            self.close()

    def stream(self):
        self.next += 2
        return self.next - 2

    def receive(self):
        """The next frame: its kind, flags, stream and content."""
        while True:
            if len(self.bytes) >= 9:
                size = int.from_bytes(self.bytes[:3], "big")
                if len(self.bytes) >= 9 + size:
                    head, content = self.bytes[:9], self.bytes[9:9 + size]
                    self.bytes = self.bytes[9 + size:]
                    return head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, content
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionResetError("the server closed the connection")
            self.bytes += more

    def call(self, path, content=b"", extra=()):
        """One request; the content of the answer's data and of its last headers."""
        stream = self.stream()
        self.send(frame(HEADERS, END_HEADERS, stream, request(path, extra)) +
                  frame(DATA, END_STREAM, stream, message(content)))
        data = b""
        while True:
            kind, flags, where, found = self.receive()
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, found))
            elif kind == GOAWAY or (kind == RST_STREAM and where == stream):
                raise ConnectionResetError(f"frame {kind}: {found!r}")
            elif kind == DATA and where == stream:
                data += found
            elif kind == HEADERS and where == stream and flags & END_STREAM:
                return data, found
