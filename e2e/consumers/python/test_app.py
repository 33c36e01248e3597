"""What a consumer of the Federated Sign-In Service must do, tried on `app.py` beside it.

    just test-examples

To try your own, start it in `start_consumer`, and write its pages' words in the tests. The
tests start a stack; to use a running one, give its control address, and it is reset before
each test: STACK_CONTROL=http://127.0.0.1:8010. They need the packages of requirements.txt.
"""

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener

FOLDER = Path(__file__).resolve().parent
FLOWS = {"/login": "/callback", "/legacy/login": "/legacy/callback"}
RESULT, TOKEN = "POST /v1/login/result", "POST /v1/token"


def call(method, url, body=None):
    """Makes one call, and returns the JSON of its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json"}, method=method)
    with build_opener().open(request, timeout=10) as answer:
        return json.loads(answer.read() or "null")


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """A browser that keeps cookies and follows redirects."""

    def __init__(self):
        self.jar = CookieJar()
        self.opener = build_opener(HTTPCookieProcessor(self.jar), NoRedirects)

    def send(self, method, url, body=None, **headers):
        """One request: the status, the address to go on to, and the page."""
        data = b"" if method == "POST" and body is None else body
        request = Request(url, data, headers, method=method)
        try:
            answer = self.opener.open(request, timeout=20)
        except HTTPError as error:
            answer = error
        with answer:
            following = answer.headers.get("Location")
            return answer.status, following and urljoin(url, following), answer.read().decode()

    def go(self, method, url, stop_at=None):
        """Follows redirects to a page, or to the address that begins with `stop_at`."""
        for _ in range(10):
            _, following, page = self.send(method, url)
            if following is None:
                return page
            if stop_at and following.startswith(stop_at):
                return following
            method, url = "GET", following
        raise AssertionError(f"{url} redirects for ever")

    def cookies(self):
        return {cookie.name: cookie.value for cookie in self.jar}


def start_stack():
    """Starts a stack on free ports, and returns it with its control address."""
    free = ["--consumer=localhost:0"]
    free += [f"--{part}=127.0.0.1:0" for part in ("broker", "control", "google", "github")]
    command = ["cargo", "run", "--quiet", "--package", "stack", "--", "--quiet", "--automatic", *free]
    stack = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True)
    for line in stack.stdout:
        if line.split()[:1] == ["control"]:
            return stack, line.split()[1]
    raise SystemExit("the stack did not start")


def free_port():
    """A port that no program gets meanwhile which leaves the choice to the system: its ports are higher."""
    while True:
        port = random.randrange(12_000, 20_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue


def start_consumer(output, broker, port, **settings):
    """Starts the consumer, and returns it when it listens."""
    environment = os.environ | {
        "SIGNIN_BASE_URL": broker, "CONSUMER_BASE_URL": f"http://localhost:{port}", "PORT": str(port),
        "SIGNIN_CLIENT_ID": "prj_test", "SIGNIN_CLIENT_SECRET": "a secret of this test",
    } | settings  # fmt: skip
    command = [sys.executable, "-B", FOLDER / "app.py"]
    consumer = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    while consumer.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return consumer
        except ConnectionRefusedError:
            pass
    raise SystemExit("the consumer did not start")


class ConsumerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.control = os.environ.get("STACK_CONTROL")
        if cls.control is None:
            stack, cls.control = start_stack()
            cls.addClassCleanup(stack.stdout.close)
            cls.addClassCleanup(stack.wait)
            cls.addClassCleanup(stack.terminate)
        cls.broker = cls.stack("GET", "/api/stack")["broker"]
        cls.output = tempfile.TemporaryFile("w+")
        cls.addClassCleanup(cls.output.close)
        cls.start_registered_consumer(KIT_CLOCK_URL=cls.control + "/api/clock")

    @classmethod
    def start_registered_consumer(cls, **settings):
        """Starts a consumer with a project of its own."""
        port = free_port()
        cls.url = f"http://localhost:{port}"
        ours = {"name": "My consumer", "redirect_uris": [cls.url + callback for callback in FLOWS.values()]}
        cls.project = cls.stack("POST", "/api/projects", ours)
        settings |= {f"SIGNIN_{name.upper()}": cls.project[name] for name in ("client_id", "client_secret")}
        consumer = start_consumer(cls.output, cls.broker, port, **settings)
        cls.addClassCleanup(consumer.wait)
        cls.addClassCleanup(consumer.terminate)

    @classmethod
    def stack(cls, method, path, body=None):
        return call(method, cls.control + path, body)

    def setUp(self):
        """Resets the stack, and has the providers sign in without a page."""
        self.stack("POST", "/api/reset")
        for provider in ("google", "github"):
            self.stack("PUT", f"/api/upstreams/{provider}", {"mode": "automatic"})
        self.browser = Browser()

    def next_user(self, **person):
        self.stack("POST", "/api/upstreams/google/next", {"person": person})

    def sign_in(self, flow="/login", provider="google", browser=None):
        """Presses the button, and returns the page on which the browser ends."""
        return (browser or self.browser).go("POST", f"{self.url}{flow}/{provider}")

    def start(self, flow="/login", browser=None):
        """Presses the button, and returns the broker's address to which the browser is sent."""
        return (browser or self.browser).send("POST", f"{self.url}{flow}/google")[1]

    def sign_in_up_to_the_callback(self, flow="/login", browser=None):
        """Returns the callback's address, to which the browser is sent and does not go yet."""
        address = self.start(flow, browser)
        return (browser or self.browser).go("GET", address, stop_at=self.url + FLOWS[flow])

    def home(self, browser=None):
        return (browser or self.browser).go("GET", self.url + "/")

    def calls(self, operation):
        """Whether the client received the answer, of each call of this operation."""
        logins = self.stack("GET", "/api/logins")
        return [it["heard"] for login in logins for it in login["calls"] if it["operation"] == operation]

    # The five that every consumer needs.

    def test_a_user_signs_in(self):
        for flow in FLOWS:
            for provider in ("google", "github"):
                with self.subTest(flow=flow, provider=provider):
                    self.browser = Browser()
                    self.assertIn("Ada Lovelace", self.sign_in(flow, provider))
                    self.assertIn(f"<dd>{provider}\n", self.home())

    def test_a_name_may_be_missing(self):
        self.next_user(id="4711", name=None)
        page = self.sign_in()
        self.assertRegex(page, r"Signed in as\s+<bdi>account \d+</bdi>")

    def test_a_user_who_cancels_sees_why_and_may_start_again(self):
        for flow in FLOWS:
            with self.subTest(flow=flow):
                self.stack("POST", "/api/upstreams/google/next", {"misbehave": "deny"})
                self.browser = Browser()
                self.assertIn("You cancelled the sign-in.", self.sign_in(flow))
                self.assertIn("You are signed out.", self.home())
                self.assertIn("Signed in as", self.sign_in(flow))

    def test_a_login_ends_after_600_seconds(self):
        for flow in FLOWS:
            for user in ("You are signed out.", "Ada Lovelace"):
                with self.subTest(flow=flow, user=user):
                    self.browser = Browser()
                    if user == "Ada Lovelace":
                        self.sign_in()
                    callback = self.sign_in_up_to_the_callback(flow)
                    self.stack("POST", "/api/clock/advance", {"seconds": 600})
                    self.assertRegex(self.browser.go("GET", callback), "took too long|under way")
                    self.assertIn(user, self.home())
        self.assertEqual(self.calls(TOKEN), [])

    def test_a_lost_answer_is_not_asked_for_again(self):
        once = {"operation": "POST /v1/login/result", "fault": "lose_response"}
        self.stack("POST", "/api/faults", once)
        self.assertIn("Please start again.", self.sign_in())
        self.assertIn("You are signed out.", self.home())

        [login] = self.stack("GET", "/api/logins")
        reads = [it for it in login["calls"] if it["operation"] == once["operation"]]
        self.assertEqual([it["heard"] for it in reads], [False], "one call, and no answer")
        self.assertEqual(login["state"], "consumed", "so a second one would get nothing")

        self.assertIn("Signed in as", self.sign_in(), "one click starts again")

    def test_a_code_is_not_sent_again(self):
        self.stack("POST", "/api/faults", {"operation": TOKEN, "fault": "lose_response"})
        self.assertIn("Please start again.", self.sign_in("/legacy/login"))
        self.assertEqual(self.calls(TOKEN), [False], "one call, and no answer")

    # The browser in which a login ends.

    def test_a_head_request_and_a_prefetch_read_nothing(self):
        for flow, operation in zip(FLOWS, (RESULT, TOKEN)):
            with self.subTest(flow=flow):
                callback = self.sign_in_up_to_the_callback(flow)
                self.browser.send("HEAD", callback)
                self.browser.send("GET", callback, **{"Sec-Purpose": "prefetch"})
                self.assertEqual(self.calls(operation), [])
                self.assertIn("Signed in as", self.browser.go("GET", callback))

    def test_twenty_callbacks_at_once_read_once(self):
        for flow, operation in zip(FLOWS, (RESULT, TOKEN)):
            with self.subTest(flow=flow):
                callback = self.sign_in_up_to_the_callback(flow)
                self.stack("POST", "/api/faults", {"operation": operation, "fault": "delay"})
                cookie = "; ".join(f"{name}={value}" for name, value in self.browser.cookies().items())
                with ThreadPoolExecutor(20) as pool:
                    answers = list(pool.map(lambda _: Browser().send("GET", callback, Cookie=cookie), range(20)))
                self.assertEqual([to for _, to, _ in answers].count(self.url + "/"), 1)
                self.assertEqual(self.calls(operation), [True])

    def test_a_planted_session_is_worth_nothing(self):
        attacker = Browser()
        self.start(browser=attacker)
        for cookie in attacker.jar:
            self.browser.jar.set_cookie(cookie)
        callback = self.sign_in_up_to_the_callback()
        self.assertNotIn("Signed in as", attacker.go("GET", callback), "while the user is away")
        self.assertIn("Signed in as", self.browser.go("GET", callback))
        self.assertIn("You are signed out.", self.home(attacker), "nor afterwards")

    def test_a_session_known_before_the_sign_in_ends_with_it(self):
        callback = self.sign_in_up_to_the_callback()
        spy = Browser()
        for cookie in self.browser.jar:
            spy.jar.set_cookie(cookie)
        self.browser.go("GET", callback)
        self.assertIn("Signed in as", self.home())
        self.assertIn("You are signed out.", self.home(spy))

    def test_of_two_tabs_the_older_says_that_it_did_not_end(self):
        for person in ("first", "second"):
            self.next_user(id=person, name=f"The {person}")
        older, newer = self.start(), self.start()
        self.assertIn("not finished", self.browser.go("GET", older))
        self.assertIn("The second", self.browser.go("GET", newer))
        self.assertIn("The second", self.home())

    def test_a_pending_login_is_looked_at_five_times(self):
        self.start()
        pages = [self.browser.go("GET", self.url + "/callback") for _ in range(7)]
        self.assertEqual(["Look again" in page for page in pages], [True] * 4 + [False] * 3)
        self.assertEqual(self.calls(RESULT), [True] * 5)

    def test_a_state_of_another_browser_or_another_case_is_refused(self):
        callback = self.sign_in_up_to_the_callback("/legacy/login")
        before, state = callback.split("state=")
        for wrong in (before, before + "state=" + state.swapcase(), callback + "&state=" + state):
            self.assertIn("began in another browser", self.browser.go("GET", wrong))
        other = Browser()
        self.start("/legacy/login", other)
        self.assertIn("began in another browser", other.go("GET", callback))
        self.assertEqual(self.calls(TOKEN), [])
        self.assertIn("Signed in as", self.browser.go("GET", callback), "the right one still works")
        self.assertIn("began in another browser", self.browser.go("GET", callback), "once")

    def test_a_cookie_of_a_similar_name_or_a_second_one_is_not_taken(self):
        self.sign_in()
        [(name, value)] = [it for it in self.browser.cookies().items() if it[0].endswith("session")]
        for cookie in (f"{name}={value}; {name}=planted", f"%{ord(name[0]):x}{name[1:]}={value}", f"\xa0{name}={value}"):
            self.assertIn("You are signed out.", Browser().send("GET", self.url + "/", Cookie=cookie)[2])
        self.assertIn("Signed in as", Browser().send("GET", self.url + "/", Cookie=f"{name}={value}")[2])

    def test_a_form_of_another_site_changes_nothing(self):
        self.sign_in()
        for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            for path in ("/login/google", "/legacy/login/google", "/logout", "/note"):
                self.assertEqual(self.browser.send("POST", self.url + path, **header)[0], 403)
        self.assertIn("Signed in as", self.home())
        self.assertEqual(self.calls("POST /v1/login/session"), [True])

    def test_starts_beyond_the_capacity_end_the_oldest_login_and_sign_no_user_out(self):
        self.addCleanup(setattr, type(self), "url", self.url)
        self.addCleanup(setattr, type(self), "project", self.project)
        self.start_registered_consumer(MAX_SESSIONS="2")
        self.sign_in()
        older, newer = Browser(), Browser()
        callback = self.sign_in_up_to_the_callback(browser=older)
        self.sign_in_up_to_the_callback(browser=newer)
        self.start("/legacy/login", Browser())
        self.assertIn("No sign-in is under way", older.go("GET", callback))
        self.assertIn("Signed in as", newer.go("GET", callback))
        self.assertIn("Signed in as", self.home())

    def test_two_instances_share_logins_sessions_and_sign_outs(self):
        database = tempfile.TemporaryDirectory()
        self.addCleanup(database.cleanup)
        self.addCleanup(setattr, type(self), "url", self.url)
        self.addCleanup(setattr, type(self), "project", self.project)
        shared = {"SESSIONS_DB": database.name + "/sessions.sqlite"}
        self.start_registered_consumer(**shared)
        shared |= {f"SIGNIN_{name.upper()}": self.project[name] for name in ("client_id", "client_secret")}
        other = self.start_other_consumer(self.broker, **shared, CONSUMER_BASE_URL=self.url)
        for flow in FLOWS:
            with self.subTest(flow=flow):
                self.browser = Browser()
                callback = self.sign_in_up_to_the_callback(flow).replace(self.url, other)
                status, following, _ = self.browser.send("GET", callback)
                self.assertEqual((status, following), (303, other + "/"))
                for instance in (self.url, other):
                    self.assertIn("Ada Lovelace", self.browser.go("GET", instance + "/"))
                self.browser.go("GET", callback.replace(other, self.url))
                copy = "; ".join(f"{name}={value}" for name, value in self.browser.cookies().items())
                self.browser.send("POST", self.url + "/logout")
                for instance in (self.url, other):
                    self.assertIn("You are signed out.", Browser().send("GET", instance + "/", Cookie=copy)[2])
        self.assertEqual((self.calls(RESULT), self.calls(TOKEN)), ([True], [True]), "each is sent once")

    # Who is signed in.

    def test_a_failed_login_leaves_the_user_who_was_signed_in(self):
        for flow in FLOWS:
            for failure in ("deny", "token_503", "wrong_nonce"):
                with self.subTest(flow=flow, failure=failure):
                    self.sign_in()
                    self.stack("POST", "/api/upstreams/google/next", {"misbehave": failure})
                    self.assertRegex(self.sign_in(flow), r"You are still signed in as\s+<bdi>Ada Lovelace")

    def test_another_user_replaces_the_first_and_has_another_note(self):
        self.next_user(id="one", name="One", email="same@people.example", email_verified=True)
        self.sign_in()
        self.browser.send("POST", self.url + "/note", b"note=<b>mine")
        self.assertIn("&lt;b&gt;mine", self.home())
        self.next_user(id="two", name="Two", email="same@people.example", email_verified=True)
        page = self.sign_in()
        self.assertIn("Two", page)
        self.assertNotIn("mine", page)
        self.next_user(id="one", name="Another name", email="other@people.example", email_verified=False)
        page = self.sign_in()
        self.assertIn("mine", page, "the account is the subject's")
        self.assertIn("not verified", page)

    def test_sign_out_ends_the_session_on_the_server(self):
        self.sign_in()
        copy = "; ".join(f"{name}={value}" for name, value in self.browser.cookies().items())
        self.assertIn("You are signed out.", self.browser.go("POST", self.url + "/logout"))
        self.assertIn("You are signed out.", Browser().send("GET", self.url + "/", Cookie=copy)[2])

    def test_the_access_token_is_revoked_and_no_secret_is_in_the_output(self):
        self.sign_in("/legacy/login")
        events = self.stack("GET", "/api/events")
        self.assertIn("POST /v1/revoke", json.dumps(events))
        self.output.seek(0)
        output = self.output.read()
        for secret in (self.project["client_secret"], "code=", "state="):
            self.assertNotIn(secret, output)

    # Brokers that do not answer as they should.

    def start_other_consumer(self, broker, **settings):
        """Starts a consumer of this broker, and returns its address."""
        port = free_port()
        consumer = start_consumer(subprocess.DEVNULL, broker, port, **settings)
        self.addCleanup(consumer.wait)
        self.addCleanup(consumer.terminate)
        return f"http://localhost:{port}"

    def start_broker(self, answer):
        """Starts a broker that answers so, and returns its address and the paths of its calls."""
        paths = []

        class Broker(BaseHTTPRequestHandler):
            def do_POST(self):
                paths.append(self.path)
                self.rfile.read1()
                answer(self)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        broker = ThreadingHTTPServer(("127.0.0.1", 0), Broker)
        self.addCleanup(broker.server_close)
        self.addCleanup(broker.shutdown)
        threading.Thread(target=broker.serve_forever).start()
        return f"http://127.0.0.1:{broker.server_port}", paths

    def test_a_broker_that_cannot_be_reached_is_a_page(self):
        other = self.start_other_consumer(f"http://127.0.0.1:{free_port()}")
        self.assertIn("did not answer as it should", Browser().go("POST", other + "/login/google"))

    def test_an_answer_that_is_none_is_a_page_and_nothing_is_sent_again(self):
        def answer(request):
            status, kind, body = answers[-1]
            content = json.dumps(body).encode()
            request.send_response(status)
            for header in (("Location", "/elsewhere"), ("Content-Type", kind), ("Content-Length", len(content))):
                request.send_header(*map(str, header))
            request.end_headers()
            request.wfile.write(content)

        broker, paths = self.start_broker(answer)
        other = self.start_other_consumer(broker)
        right = {"authorization_url": broker + "/login/x", "expires_in": 600}
        elsewhere = {"authorization_url": "https://evil.example/login/x", "expires_in": 600}
        answers = [(200, "application/json", right)]
        self.assertEqual(Browser().send("POST", other + "/login/google")[1], broker + "/login/x")
        for wrong in [
            (201, "application/json", right), (303, "application/json", right), (307, "application/json", right),
            (421, "application/json", right), (503, "application/json", {"error": "request_failed"}),
            (200, "text/html", right), (200, "application/json", []), (200, "application/json", elsewhere),
            (200, "application/json", right | {"authorization_url": broker + "/login/x?y=z"}),
            (200, "application/json", right | {"more": "x" * 100_000}),
        ]:  # fmt: skip
            with self.subTest(answer=str(wrong)[:60]):
                answers.append(wrong)
                paths.clear()
                self.assertIn("did not answer as it should", Browser().go("POST", other + "/login/google"))
                self.assertEqual(paths, ["/v1/login/session"])

    def test_a_broker_that_drips_keeps_no_user_waiting(self):
        stopped, served = threading.Event(), []
        self.addCleanup(stopped.set)

        def drip(request):
            served.append(Browser().send("GET", other + "/")[0])
            request.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while not stopped.wait(0.1):
                request.wfile.write(b"x")

        other = self.start_other_consumer(self.start_broker(drip)[0])
        self.assertIn("did not answer as it should", Browser().go("POST", other + "/login/google"))
        self.assertEqual(served, [200], "others are served meanwhile")

    def test_a_setting_that_is_missing_or_wrong_is_named(self):
        right = {"SIGNIN_BASE_URL": self.broker, "SIGNIN_CLIENT_ID": "x", "SIGNIN_CLIENT_SECRET": "x"}
        for name, value, sentence in [
            ("SIGNIN_BASE_URL", "", "is missing: set it to an address such as "),
            ("SIGNIN_BASE_URL", "http://signin.example", "is not an address such as "),
            ("CONSUMER_BASE_URL", "http://localhost:5000/path", "is not an address such as "),
            ("SIGNIN_CLIENT_ID", "", "is missing: set it to the project's client_id."),
            ("SIGNIN_CLIENT_SECRET", "", "is missing: set it to the project's client_secret."),
            ("PORT", "many", "is not a number."),
        ]:
            command = [sys.executable, "-B", FOLDER / "app.py"]
            ended = subprocess.run(command, env=right | {name: value}, capture_output=True, text=True, timeout=10)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr.count("\n")), (2, "", 1))
            self.assertTrue(ended.stderr.startswith(f"{name} {sentence}"), ended.stderr)

    def test_over_https_the_cookie_is_of_this_host_only(self):
        port = free_port()
        settings = {"CONSUMER_BASE_URL": "https://app.example"}
        consumer = start_consumer(subprocess.DEVNULL, self.broker, port, **settings)
        self.addCleanup(consumer.wait)
        self.addCleanup(consumer.terminate)
        request = Request(f"http://127.0.0.1:{port}/legacy/login/google", b"", {"Origin": "https://app.example"})
        with self.assertRaises(HTTPError) as answer:
            build_opener(NoRedirects).open(request, timeout=10)
        pair, *attributes = answer.exception.headers["Set-Cookie"].split("; ")
        answer.exception.close()
        self.assertRegex(pair, r"^__Host-\w+=\S{43,}$")
        attributes = sorted(it for it in attributes if not it.startswith("Expires="))
        self.assertEqual(attributes, ["HttpOnly", "Max-Age=600", "Path=/", "SameSite=Lax", "Secure"])


if __name__ == "__main__":
    unittest.main()
