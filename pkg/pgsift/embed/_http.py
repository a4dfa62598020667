"""A JSON endpoint of a model server, by the standard library alone: timeouts, retries, no redirects."""

from __future__ import annotations

import email.utils
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from pgsift.errors import InvalidArgument, PgsiftError

# Too Early, Too Many Requests, request timeout, and what gateways answer while a server starts or restarts.
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 60.0
LARGEST_ANSWER = 512 * 1024 * 1024


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key, and the texts, to a host nobody configured."""

    def redirect_request(self, *_: object) -> None:
        return None


class Endpoint:
    """``POST`` of JSON to one address.

    The key goes into the ``Authorization`` header and nowhere else. ``timeout`` is in seconds, per request; a
    request that fails for a passing reason (no connection, timeout, status 408, 425, 429, 500, 502, 503, 504)
    is tried again ``retries`` times, after the server's ``Retry-After`` or with doubling waits.
    ``unavailable`` makes the exception of a sentence that follows the host's name.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None,
        timeout: float,
        retries: int,
        unavailable: Callable[[str], PgsiftError],
    ) -> None:
        self.url = url
        self.host = urlsplit(url).netloc.rpartition("@")[2]
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._unavailable = unavailable
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, body: Any) -> bytes:
        """The bytes of the answer."""
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        wait = 0.5
        for attempt in range(self._retries + 1):
            request = urllib.request.Request(self.url, data=data, headers=headers, method="POST")
            pause = wait
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    received: bytes = answer.read(LARGEST_ANSWER + 1)
                if len(received) > LARGEST_ANSWER:
                    raise self._unavailable(f"answered with more than {LARGEST_ANSWER} bytes")
                return received
            except urllib.error.HTTPError as error:
                with error:
                    text = error.read(2000).decode("utf-8", "replace")
                problem = self._unavailable(f"answered {error.code} {error.reason}: {self.redacted(text)}")
                if error.code not in _RETRIED:
                    raise problem from error
                pause = max(pause, retry_after(error.headers.get("Retry-After")))
                cause: Exception = error
            except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
                reason = getattr(error, "reason", None) or str(error) or type(error).__name__
                problem = self._unavailable(f"cannot be reached: {reason}")
                cause = error
            if attempt == self._retries:
                raise problem from cause
            # A little randomness, so that parallel writers do not come back all at once.
            time.sleep(min(pause, _LONGEST_WAIT) * (1 + random.random() / 4))
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def redacted(self, text: str) -> str:
        """The beginning of what a server said, on one line and without the key."""
        text = " ".join(text.split())[:500]
        return text.replace(self._key, "…") if self._key else text


def checked_address(url: str, *, setting: str, before: str) -> str:
    """The address without a slash at its end; one that is neither http nor https is refused."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgument(
            f"base_url is {url!r}, not an http or https address",
            hint=f"Set {setting} or base_url to what stands before {before}.",
        )
    return url.rstrip("/")


def retry_after(value: str | None) -> float:
    """Seconds the header ``Retry-After`` asks for: a number, or a date; 0 when it says nothing usable."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
