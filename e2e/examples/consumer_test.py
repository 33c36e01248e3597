"""A consumer of the Federated Sign-In Service, and the tests that it must pass.

    python3 e2e/examples/consumer_test.py

Python 3.9 or newer is all it needs. The tests start a stack; to use a running one, give
its control address: STACK_CONTROL=http://127.0.0.1:8010. It is reset before each test.
"""

import json
import os
import secrets
import socket
import subprocess
import threading
import unittest
from html import escape
from http.client import HTTPException
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener


class NoRedirects(HTTPRedirectHandler):
    """A redirect would carry secrets to wherever it points."""

    def redirect_request(self, *_):
        return None


OPENER = build_opener(NoRedirects)


class Refused(Exception):
    """The broker refused, by an ApiError. A proxy in between answers by itself, too."""


def call(method, url, body=None):
    """Makes one call, never repeated, and returns the JSON of its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with OPENER.open(request, timeout=10) as answer:
            return json.loads(answer.read() or "null")
    except HTTPError as error:
        with error:
            if 400 <= error.code < 500 and "error" in json.load(error):
                raise Refused from None
        raise


# The errors after which it is unknown what the broker did.
LOST = (OSError, HTTPException, ValueError)


# The consumer: one page, one button, one session cookie. Replace it by yours. (It is
# the smallest that passes the tests; the one to learn from is `consumer-demo`.)


class Consumer(ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Pages)
        self.url = f"http://localhost:{self.server_port}"
        self.callback = f"{self.url}/callback"
        self.broker = self.project = None  # set before the first request
        self.sessions = {}  # by cookie: {"key": …} under way, {"who": …} signed in

    def call_broker(self, path, **fields):
        credentials = {name: self.project[name] for name in ("client_id", "client_secret")}
        fields |= credentials | {"redirect_uri": self.callback}
        return call("POST", self.broker + path, fields)


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/callback":
            self.finish_login()
        else:
            who = self.session().get("who")
            self.show(f"Signed in as {who}." if who else "You are signed out.")

    def do_HEAD(self):
        """Answers a link checker without reading the result."""
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        """Starts a login with a fresh key, kept here, and sends the browser to the
        broker with a fresh cookie."""
        key = secrets.token_urlsafe(32)
        fields = {"session_key": key, "provider": "google"}
        try:
            started = self.server.call_broker("/v1/login/session", **fields)
        except (Refused, *LOST):
            return self.show("The sign-in is unavailable.")
        cookie = secrets.token_urlsafe(32)
        self.server.sessions[cookie] = {"key": key}
        self.send_response(303)
        self.send_header("Location", started["authorization_url"])
        # Lax: a Strict cookie is not sent on the way back from the provider.
        self.send_header("Set-Cookie", f"sid={cookie}; Path=/; HttpOnly; SameSite=Lax")
        self.end_headers()

    def finish_login(self):
        session = self.session()
        key = session.pop("key", None)  # taken, so that the result is read once
        if key is None:
            return self.show("Nothing is under way.")
        try:
            result = self.server.call_broker("/v1/login/result", session_key=key)
        except Refused:
            return self.show("That took too long.")
        except LOST:
            # The result may have been consumed: a second read cannot help.
            return self.show("The answer was lost.")
        if result["status"] == "pending":
            session["key"] = key  # nothing was consumed
            return self.show("The sign-in is not finished.")
        if result["status"] == "failed":
            return self.show(f"It failed: {result['error']}.")
        # A name may be null. Accounts are keyed by `subject`, which never is.
        profile = result["profile"]
        session["who"] = profile["name"] or f"account {profile['subject']}"
        self.send_response(303)
        self.send_header("Location", "/")
        self.end_headers()

    def session(self):
        """The browser's session, found by the cookie's exact name; of two with one name,
        one was planted."""
        pairs = (pair.strip(" ").split("=", 1) for pair in self.headers.get("Cookie", "").split(";"))
        values = [value for name, *value in pairs if name == "sid"]
        return self.server.sessions.get(values[0][0], {}) if len(values) == 1 else {}

    def show(self, text):
        button = '<form method="post" action="/login"><button>Sign in</button></form>'
        page = f"<!doctype html><p>{escape(text)}</p>{button}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


# The stack: started here, or already running.


def start_stack():
    """Starts a stack on free ports, and returns it with its control address."""
    free = ["--consumer=localhost:0"]
    free += [f"--{part}=127.0.0.1:0" for part in ("broker", "control", "google", "github")]
    command = ["cargo", "run", "--quiet", "--package", "stack", "--", "--quiet", "--automatic", *free]
    here = os.path.dirname(os.path.abspath(__file__))
    stack = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True)
    for line in stack.stdout:
        if line.split()[:1] == ["control"]:
            return stack, line.split()[1]
    raise SystemExit("the stack did not start")


class Browser:
    """A browser that keeps cookies and follows redirects."""

    def __init__(self):
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def open(self, url):
        return self.opener.open(url, timeout=10).read().decode()

    def head(self, url):
        self.opener.open(Request(url, method="HEAD"), timeout=10).close()

    def press(self, url):
        return self.opener.open(url, data=b"", timeout=10).read().decode()


class ConsumerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.control = os.environ.get("STACK_CONTROL")
        if cls.control is None:
            stack, cls.control = start_stack()
            cls.addClassCleanup(stack.stdout.close)
            cls.addClassCleanup(stack.wait)
            cls.addClassCleanup(stack.terminate)
        cls.consumer = Consumer()
        cls.addClassCleanup(cls.consumer.server_close)
        cls.addClassCleanup(cls.consumer.shutdown)
        threading.Thread(target=cls.consumer.serve_forever).start()
        ours = {"name": "My consumer", "redirect_uris": [cls.consumer.callback]}
        cls.consumer.project = cls.stack("POST", "/api/projects", ours)
        cls.consumer.broker = cls.stack("GET", "/api/stack")["broker"]

    @classmethod
    def stack(cls, method, path, body=None):
        return call(method, cls.control + path, body)

    def setUp(self):
        """Resets the stack, and has the provider sign in without a page."""
        self.stack("POST", "/api/reset")
        self.stack("PUT", "/api/upstreams/google", {"mode": "automatic"})
        self.browser = Browser()

    def sign_in(self):
        """Presses the button, and returns the page on which the browser ends."""
        return self.browser.press(self.consumer.url + "/login")

    def home(self):
        return self.browser.open(self.consumer.url)

    def test_a_user_signs_in(self):
        self.assertIn("Signed in as Ada Lovelace.", self.sign_in())
        self.assertIn("Signed in as Ada Lovelace.", self.home())

    def test_a_name_may_be_missing(self):
        nameless = {"id": "4711", "name": None}
        self.stack("POST", "/api/upstreams/google/next", {"person": nameless})
        self.assertIn("Signed in as account sub_", self.sign_in())

    def test_a_user_who_cancels_sees_why_and_may_start_again(self):
        self.stack("POST", "/api/upstreams/google/next", {"misbehave": "deny"})
        self.assertIn("It failed: access_denied.", self.sign_in())
        self.assertIn("You are signed out.", self.home())
        self.assertIn("Signed in as", self.sign_in())

    def test_a_login_ends_after_600_seconds(self):
        self.stack("PUT", "/api/upstreams/google", {"mode": "interactive"})
        self.assertIn("Choose an account", self.sign_in())
        self.stack("POST", "/api/clock/advance", {"seconds": 600})
        self.assertIn("That took too long.", self.browser.open(self.consumer.callback))
        self.assertIn("You are signed out.", self.home())

    def test_a_lost_answer_is_not_asked_for_again(self):
        once = {"operation": "POST /v1/login/result", "fault": "lose_response"}
        self.stack("POST", "/api/faults", once)
        self.assertIn("The answer was lost.", self.sign_in())
        self.assertIn("You are signed out.", self.home())

        [login] = self.stack("GET", "/api/logins")
        reads = [it for it in login["calls"] if it["operation"] == once["operation"]]
        self.assertEqual([it["heard"] for it in reads], [False], "one call, and no answer")
        self.assertEqual(login["state"], "consumed", "so a second one would get nothing")

        self.assertIn("Signed in as", self.sign_in(), "one click starts again")

    def test_a_head_request_reads_nothing(self):
        self.stack("PUT", "/api/upstreams/google", {"mode": "interactive"})
        self.sign_in()
        self.browser.head(self.consumer.callback)
        [login] = self.stack("GET", "/api/logins")
        operations = [it["operation"] for it in login["calls"]]
        self.assertEqual(operations, ["POST /v1/login/session", "GET /login/{handle}"])

    def use_broker(self, origin):
        self.addCleanup(setattr, self.consumer, "broker", self.consumer.broker)
        self.consumer.broker = origin

    def test_a_broker_that_cannot_be_reached_is_a_page(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        self.use_broker(f"http://127.0.0.1:{port}")
        self.assertIn("The sign-in is unavailable.", self.sign_in())
        self.assertIn("You are signed out.", self.home())

    def test_a_redirect_carries_the_secrets_nowhere(self):
        paths = []

        class Elsewhere(BaseHTTPRequestHandler):
            def do_POST(self):
                paths.append(self.path)
                self.send_response(302)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            do_GET = do_POST
            log_message = Pages.log_message

        elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
        self.addCleanup(elsewhere.server_close)
        self.addCleanup(elsewhere.shutdown)
        threading.Thread(target=elsewhere.serve_forever).start()
        self.use_broker(f"http://127.0.0.1:{elsewhere.server_port}")
        self.assertIn("The sign-in is unavailable.", self.sign_in())
        self.assertEqual(paths, ["/v1/login/session"])


if __name__ == "__main__":
    unittest.main()
