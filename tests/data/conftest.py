"""A web server on this machine that answers as it is told, and files in the formats that the readers know."""

import contextlib
import gzip
import hashlib
import http.server
import io
import struct
import tarfile
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from hecka.data import catalogue
from hecka.data.dataset import DataSet
from hecka.data.images import Whitening

Reply = Callable[[http.server.BaseHTTPRequestHandler], None]


def whole(content: bytes, ranges: bool = True, sent: int | None = None, stall: float = 0.0, shift: int = 0) -> Reply:
    """All of ``content``, or the range that was asked for, or one beside it; or ``sent`` bytes and then no more."""

    def reply(handler):
        wanted = handler.headers.get("Range") if ranges else None
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if start >= len(content):
            return handler.send_error(416)
        start += shift if wanted else 0
        handler.send_response(206 if wanted else 200)
        if wanted:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start:][:sent])
        handler.wfile.flush()
        return time.sleep(stall)

    return reply


def error(code: int) -> Reply:
    return lambda handler: handler.send_error(code)


def redirect(path: str) -> Reply:
    def reply(handler):
        handler.send_response(302)
        handler.send_header("Location", path)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return reply


def endless(most: int) -> Reply:
    """Says nothing of a length and sends until the other side has had enough, or ``most`` bytes."""

    def reply(handler):
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            for _ in range(most // 65_536):
                handler.wfile.write(bytes(65_536))

    return reply


def silence(seconds: float) -> Reply:
    return lambda handler: time.sleep(seconds)


class Server:
    """``replies[path]`` are given in turn, the last one for ever; ``asked`` holds (path, Range) of every request."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append((self.path, self.headers.get("Range")))
                replies = outer.replies.get(self.path, [error(404)])
                (replies.pop(0) if len(replies) > 1 else replies[0])(self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.block_on_close = False

    def serve(self, path: str, *replies: Reply) -> str:
        self.replies[path] = list(replies)
        return f"http://127.0.0.1:{self.http.server_port}{path}"


@pytest.fixture
def answer():
    """The replies that a server can be told to give."""
    return SimpleNamespace(whole=whole, error=error, redirect=redirect, silence=silence, endless=endless)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


@pytest.fixture
def md5():
    """The checksum of bytes as the catalogue writes it."""
    return lambda content: f"md5:{hashlib.md5(content).hexdigest()}"


@pytest.fixture
def entry(monkeypatch):
    """Puts a set with the given files into the catalogue, under the name "mine"."""

    def add(*files):
        settings = {"title": "Mine", "about": "", "licence": "", "citation": "", "classes": ("a",), "shape": (1, 1, 1)}
        dataset = DataSet(
            **settings,
            name="mine",
            whitening=Whitening((0.5,), (0.5,)),
            sizes={"train": 1, "test": 1},
            files=files,
            layout=lambda root, split: pytest.fail("nothing is read here"),
        )
        monkeypatch.setitem(catalogue.CATALOGUE, "mine", dataset)

    return add


@pytest.fixture
def write_idx():
    def write(path, array, packed=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        header = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
        content = header + array.astype(np.uint8).tobytes()
        path.write_bytes(gzip.compress(content) if packed else content)
        return path

    return write


@pytest.fixture
def write_picture():
    def write(path, pixels):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(pixels, np.uint8)).save(path)
        return path

    return write


@pytest.fixture
def tar():
    """Bytes of a .tar.gz with the given files; a value that is a TarInfo goes in as it is."""

    def pack(files):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
            for name, content in files.items():
                member = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
                if isinstance(content, bytes):
                    member.size = len(content)
                packed.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
        return buffer.getvalue()

    return pack
