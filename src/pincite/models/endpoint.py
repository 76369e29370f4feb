"""One question, one JSON answer: a model that someone else runs, with the standard library only."""

from __future__ import annotations

import ipaddress
import json
import socket
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pincite.errors import ModelError, ModelLimit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANSWER_BYTES = 256 << 20
_ERROR_BYTES = 2000  # of an error's answer that are read


class Endpoint:
    """Where to ask. May be used from several threads.

    Attributes:
        shown (str): the address without a query, which may hold a secret.
    """

    shown: str

    def __init__(self, url: str, *, what: str, api_key: str, fix: str) -> None:
        """Check the address; nothing is sent yet.

        Args:
            url: what is asked, http or https.
            what: the endpoint's kind, for messages.
            api_key: sent as a bearer token, when not empty; never to a plain-HTTP address of another machine.
            fix: what to do when the endpoint fails.

        Raises:
            ModelError: the address is bad, or the key would cross the network in the clear.
        """
        self._url, self._what, self._key, self._fix = url, what, api_key, fix
        try:
            parts = urlsplit(url)
            valid = parts.scheme in ("http", "https") and parts.hostname and not parts.username
        except ValueError:
            valid = False
        if not valid:  # nothing of it is shown, as it may hold a password
            raise ModelError(f"The address of the {what} endpoint is not a web address.", fix=fix)
        self.shown = parts._replace(query="", fragment="").geturl()
        if api_key and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ModelError(f"The key would be sent to {self.shown} unencrypted.", fix="Use https, or unset the key.")

    def ask(self, body: dict[str, Any], seconds: float) -> Any:
        """Post JSON and give the JSON that comes back.

        Args:
            body: what to send.
            seconds: until there must be an answer.

        Returns:
            Any JSON value.

        Raises:
            ModelLimit: the time is over.
            ModelError: the endpoint cannot be reached, refuses, or does not answer in JSON.
        """
        deadline = time.perf_counter() + seconds
        refuse_link_local(self._url)
        headers = {"Content-Type": "application/json", "User-Agent": "pincite"}
        request = Request(self._url, data=json.dumps(body).encode(), headers=headers)  # noqa: S310 - checked when made
        if self._key:  # and not again where the endpoint may redirect to
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        try:
            with _OPENER.open(request, timeout=max(seconds, 0.001)) as response:
                return json.loads(_read(response, deadline))
        except HTTPError as error:
            with error:
                said = " ".join(error.read(_ERROR_BYTES).decode("utf-8", "replace").split())
            said = (said.replace(self._key, "***") if self._key else said)[:200]
            raise self.failure(f"answers {error.code} {error.reason}: {said}") from error
        except (OSError, HTTPException) as error:
            if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
                message = f"The {self._what} endpoint {self.shown} did not answer within {seconds:.3g} seconds."
                raise ModelLimit(message, fix=self._fix) from error
            raise self.failure(f"cannot be reached ({error})") from error
        except ValueError as error:
            raise self.failure("does not answer in JSON") from error

    def failure(self, what: str) -> ModelError:
        """Make the error for an endpoint that does not do what was agreed."""
        return ModelError(f"The {self._what} endpoint {self.shown} {what}.", fix=self._fix)


def is_link_local(address: str) -> bool:
    """Tell whether an IP address, in whatever form, is one at which cloud machines give out secrets."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return (getattr(found, "ipv4_mapped", None) or found).is_link_local


def refuse_link_local(url: str) -> None:
    """Raise ModelError if the host of an address is, or has, a link-local IP address.

    One that has no address here may have one behind a proxy: that is left to the connection.
    """
    try:
        found = socket.getaddrinfo(urlsplit(url).hostname, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return
    if any(is_link_local(str(address[0])) for *_, address in found):
        raise ModelError("The endpoint is at a link-local address.", fix="Name the address of a model's endpoint.")


class _Redirects(HTTPRedirectHandler):
    """Looks at where it is sent, too."""

    def redirect_request(self, *given: Any) -> Request | None:
        """Follow, as the standard library does."""
        refuse_link_local(given[-1])
        return super().redirect_request(*given)


_OPENER = build_opener(_Redirects)


def _read(response: Any, deadline: float) -> bytes:
    """Read an answer of bounded size to its end, however slowly it comes, but not for longer than agreed."""
    answer = bytearray()
    while part := response.read1(1 << 16):
        answer += part
        if time.perf_counter() > deadline:
            raise TimeoutError
        if len(answer) > _ANSWER_BYTES:
            raise ValueError("the answer is too long")
    return bytes(answer)
