"""The stack in a container, and a sandbox of it for each test: a broker and providers, with a
clock, users and faults that no other test meets. It needs pytest and testcontainers.

The container uses the machine's network: a sandbox has free ports, which no published port leads to.
"""

import json
import os
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import ExecWaitStrategy

IMAGE = os.environ.get("SIGNIN_IMAGE", "stack")  # built from the kit's tree: no registry has it
PROJECT = {"name": "My app", "redirect_uris": ["http://localhost:5000/callback"]}  # yours


def control(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null")


@pytest.fixture(scope="session")
def stack():
    """The control address of the stack."""
    container = DockerContainer(IMAGE, command=["--quiet", "--automatic"], network_mode="host")
    with container.waiting_for(ExecWaitStrategy(["/usr/local/bin/stack", "--health"])):
        yield "http://127.0.0.1:8010"


@pytest.fixture
def sandbox(stack, request):
    """Its URLs, its `project` with the secret, and `call` for its control address."""
    made = control("POST", f"{stack}/api/sandboxes", {"name": request.node.name[:80], "projects": [PROJECT]})
    call = lambda method, path, body=None: control(method, made["control"] + path, body)
    yield SimpleNamespace(**made, project=made["projects"][0], call=call)
    control("DELETE", f"{stack}/api/sandboxes/{made['id']}")
