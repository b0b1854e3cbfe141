"""uvicorn's HTTP, with limits on the address and the headers.

uvicorn keeps whatever precedes the body, however long. Here the parser gets no more bytes than a
head may have until it reports the end of the head, a part of the body or the end of the message; so
neither headers nor trailers nor the lines between chunks can grow.
"""

from __future__ import annotations

import json
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 32_768  # bytes: request line and headers
LONGEST_ADDRESS = 8_192
_LINGER = 1.0  # seconds in which a client that is still sending can read the refusal


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's protocol, with limits."""

    _head = 0  # bytes since the parser last reported something complete
    _refused = False

    def data_received(self, data: bytes) -> None:
        """Give the parser as much as may belong to the head, piece by piece."""
        while data and not self._refused and not self.transport.is_closing():
            room = LARGEST_HEAD - self._head
            if room <= 0:
                self._refuse(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"address and headers may have at most {LARGEST_HEAD} bytes together.",
                )
                return
            piece, data = data[:room], data[room:]
            self._head += len(piece)
            super().data_received(piece)

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > LONGEST_ADDRESS:
            self._refuse(
                HTTPStatus.REQUEST_URI_TOO_LONG,
                f"the address may have at most {LONGEST_ADDRESS} bytes.",
            )
            raise ValueError("the address is too long")  # ends the parser
        super().on_url(url)

    def on_headers_complete(self) -> None:
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        # there is another limit for the whole body
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless that has been done."""
        if not self._refused:
            super().send_400_response(msg)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Answer, ignore what else comes, and close the connection soon."""
        self._refused = True
        self._unset_keepalive_if_required()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()  # it would be taken for the answer to the request before
            return
        body = json.dumps({"error": sentence}).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.loop.call_later(_LINGER, self.transport.close)
