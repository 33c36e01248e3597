"""Hundreds of tests at once, each in its sandbox: `just test-sandboxes`.

Each test moves the clock, queues a user and arms a fault, and signs in as the backend of a
consumer would. It fails if it meets the clock, the user or the fault of another test. To
see that, name one sandbox for all of them in ONE_SANDBOX: the JSON that made it.
"""

import json
import os
import secrets
from types import SimpleNamespace
from urllib.parse import urljoin

import pytest
import requests

import conftest

READ = "POST /v1/login/result"


@pytest.fixture
def own(request):
    """The test's own sandbox, or the one for all."""
    if "ONE_SANDBOX" not in os.environ:
        return request.getfixturevalue("sandbox")
    one = json.loads(os.environ["ONE_SANDBOX"])
    call = lambda method, path, body=None: conftest.control(method, one["control"] + path, body)
    return SimpleNamespace(**one, project=one["projects"][0], call=call)


class Consumer:
    """A consumer's backend, with the one login that it starts."""

    def __init__(self, sandbox):
        self.broker, self.project = sandbox.broker, sandbox.project
        self.callback = self.project["redirect_uris"][0]
        self.session_key = secrets.token_urlsafe(32)

    def start(self, provider):
        """Starts the login, and returns the URL for the browser."""
        answer = self.post("/v1/login/session", provider=provider)
        return answer["authorization_url"]

    def read(self):
        """Reads the result."""
        return self.post("/v1/login/result")

    def post(self, path, **more):
        body = {
            "client_id": self.project["client_id"],
            "client_secret": self.project["client_secret"],
            "session_key": self.session_key,
            "redirect_uri": self.callback,
            **more,
        }
        answer = requests.post(self.broker + path, json=body, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def browse(self, url):
        """The browser's part: follows the redirects from `url` to the callback."""
        browser = requests.Session()
        while url != self.callback:
            answer = browser.get(url, allow_redirects=False, timeout=30)
            assert answer.is_redirect, f"{url}: {answer.status_code} {answer.text}"
            url = urljoin(url, answer.headers["Location"])


@pytest.mark.parametrize("number", range(int(os.environ.get("SANDBOX_TESTS", "40"))))
def test_a_sign_in_meets_the_clock_the_user_and_the_fault_of_its_own_test(own, number):
    provider = ("google", "github")[number % 2]
    seconds = 400 + number % 199
    person = {"id": str(1_000_000 + number)}
    consumer = Consumer(own)
    url = consumer.start(provider)
    # A login lasts for 600 seconds: it outlives one such advance, and not two.
    own.call("POST", "/api/clock/advance", {"seconds": seconds})
    own.call("POST", f"/api/upstreams/{provider}/next", {"person": person})
    own.call("POST", "/api/faults", {"operation": READ, "fault": "refuse", "nth": 2})

    assert consumer.read() == {"status": "pending"}
    consumer.browse(url)
    with pytest.raises(requests.ConnectionError):
        consumer.read()
    assert consumer.read()["profile"]["providerSubject"] == person["id"]

    assert own.call("GET", "/api/clock")["advanced_seconds"] == seconds
    assert own.call("GET", "/api/faults") == []
    assert [login["state"] for login in own.call("GET", "/api/logins")] == ["consumed"]
