"""A sandbox for each test: a broker and providers, with a clock, users and faults that no
other test meets. Copy this into the conftest.py of your own tests.

It is made by the stack at STACK_CONTROL, or else at its usual address: `just up`. With
KEEP_SANDBOX=1 it stays, and its address is printed: open the inspector there.
"""

import json
import os
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

STACK = os.environ.get("STACK_CONTROL", "http://127.0.0.1:8010")
PROJECT = {"name": "My app", "redirect_uris": ["http://localhost:5173/auth/callback"]}  # yours


def control(method, url, body=None):
    """Makes a control call, and returns the JSON of its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")
    except HTTPError as error:
        raise AssertionError(f"{method} {url}: {error.code} {error.read().decode()}") from None


@pytest.fixture
def sandbox(request):
    """Its URLs, its `project` with the secret, and `call` for its control address."""
    made = control("POST", f"{STACK}/api/sandboxes", {"name": request.node.name[:80], "projects": [PROJECT]})
    call = lambda method, path, body=None: control(method, made["control"] + path, body)
    yield SimpleNamespace(**made, project=made["projects"][0], call=call)
    if os.environ.get("KEEP_SANDBOX"):
        print(f"The sandbox stays for 15 minutes: {made['control']}")
    else:
        control("DELETE", f"{STACK}/api/sandboxes/{made['id']}")
