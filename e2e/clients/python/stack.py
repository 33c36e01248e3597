"""The stack that the suites stand on, at STACK_CONTROL: `just test-clients` starts one."""

import json
import os
import unittest
from urllib.parse import urlsplit

import requests

CLIENT_ID = "federated-sign-in-kit"
CLIENT_SECRET = "mock-upstream-secret"


class StackCase(unittest.TestCase):
    """A new world for each test; the providers sign a user in without a page."""

    @classmethod
    def setUpClass(cls):
        cls.control = os.environ["STACK_CONTROL"]
        stack = cls.call("GET", "/api/stack")
        cls.google = stack["upstreams"]["google"]
        cls.github = stack["upstreams"]["github"]
        cls.broker = stack["broker"]

    @classmethod
    def call(cls, method, path, body=None):
        """One call of the control address, and the JSON that it is answered with."""
        headers = {"Content-Type": "application/json"}
        data = json.dumps(body) if body is not None else None
        answer = requests.request(method, cls.control + path, data=data, headers=headers, timeout=10)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def setUp(self):
        self.call("POST", "/api/reset")
        for provider in ("google", "github"):
            self.call("PUT", f"/api/upstreams/{provider}", {"mode": "automatic"})

    def goes_wrong(self, provider, misbehaviour):
        """Lets the next sign-in go wrong."""
        self.call("POST", f"/api/upstreams/{provider}/next", {"misbehave": misbehaviour})

    def callback(self, provider):
        """The one that is registered: the broker's."""
        return f"{self.broker}/callback/{provider}"

    def callback_of(self, authorization_url):
        """The browser's part: opens the URL, and returns the callback it is sent to."""
        answer = requests.get(authorization_url, allow_redirects=False, timeout=10)
        self.assertEqual(answer.status_code, 302, answer.text)
        return answer.headers["Location"]


def query_of(url):
    return urlsplit(url).query
