"""Odd applications for the tests of the examiner: `app.py KIND`.

`plain` signs in by the clean flow, on the standard library alone. `slow` does so with a
pause before each answer, `scripted` with a page that needs JavaScript, `csrf` with a token
in the form that a visitor alone sees, `subject` shows the subject alone, `sign-out` has a
button for visitors, too. In `guestbook` everybody sees who wrote each entry. In `failing` three of four buttons answer 500; in `followed` a script
goes on with a login of the second form; `one-key` has one session key for all logins; a browser
drops the cookie of `dropped`; `dying` ends at a HEAD.

By the legacy flow sign in `sorted`, whose first call sorts its parameters; `link`, by a plain
link to the broker; `hidden`, whose two forms differ by a hidden field, one for each flow; and
the second form of `in-url`, which has the client secret in the address.

The others sign no user in: `answers-200`, `answers-500`, `dead-button`, `own-login`,
and `nested`, whose page has 200,000 elements within each other.
"""

import base64
import hashlib

import html
import json
import os
import secrets
import sys
import time
import urllib.request
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode

KIND = sys.argv[1]
HERE = os.environ.get("CONSUMER_BASE_URL", "http://localhost:5000")
PORT = int(os.environ.get("PORT", 5000))
SECONDS = 0.6 if KIND == "slow" else 0
CALLBACK = HERE + ("/auth/back" if KIND == "sorted" else "/callback")
ONE_KEY = secrets.token_urlsafe(32)
SESSIONS = {}  # by cookie: {"key": …} under way, {"user": …} signed in

SIGN_IN = """<form method="post" action="/login"><button name="provider" value="google">Google</button>
<button name="provider" value="github">GitHub</button></form>"""
CSRF = SIGN_IN.replace("</form>", '<input type="hidden" name="csrf" value="{}"></form>')
FORM = '<form method="post" action="/login"><input type="hidden" name="flow" value="{}"><button>Sign in</button></form>'
START = {
    "failing": SIGN_IN + "".join(f'<form method="post" action="/login/{it}"><button>{it}</button></form>' for it in "abc"),
    "followed": SIGN_IN.replace('<button name="provider" value="github">GitHub</button>', "") + FORM.format("script"),
    "hidden": FORM.format("clean") + FORM.format("legacy"),
    "in-url": SIGN_IN + FORM.format("legacy"),
    "sign-out": SIGN_IN + '<form method="post" action="/logout"><button>Sign out</button></form>',
    "sorted": FORM.format("legacy"),
}
ENTRIES = []  # of the guestbook
ENTRY = '<form method="post" action="/entries"><input name="text"><button>Write</button></form>'
SIGNED_IN = '<p>Hello, {}</p><form method="post" action="/logout"><button>Sign out</button></form>'
PASSWORD = """<form method="post" action="/password"><input name="user"><input name="password" type="password">
<button>Log in</button></form>"""
SCRIPTED = """<div id="app"></div><script>
const show = (me) => { app.innerHTML = me.user ? '<b id="name"></b>' : '<button onclick="login()">Sign in</button>';
  if (me.user) document.getElementById('name').textContent = me.user.name || me.user.subject; };
async function login() {
  const answer = await fetch('/api/login', { method: 'POST' });
  location.assign((await answer.json()).url); }
fetch('/api/me').then((answer) => answer.json()).then(show);
</script>"""


def call(path, **fields):
    fields |= {"client_id": os.environ["SIGNIN_CLIENT_ID"], "client_secret": os.environ["SIGNIN_CLIENT_SECRET"]}
    return ask(path, json.dumps(fields | {"redirect_uri": CALLBACK}).encode(), {"Content-Type": "application/json"})


def ask(path, body=None, headers=None):
    request = urllib.request.Request(os.environ["SIGNIN_BASE_URL"] + path, body, headers or {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def authorize(session):
    session["state"], session["verifier"] = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    digest = hashlib.sha256(session["verifier"].encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    pairs = {"client_id": os.environ["SIGNIN_CLIENT_ID"], "redirect_uri": CALLBACK, "provider": "google",
             "state": session["state"], "code_challenge": challenge, "code_challenge_method": "S256"}
    if KIND == "in-url":
        pairs["client_secret"] = os.environ["SIGNIN_CLIENT_SECRET"]
    return os.environ["SIGNIN_BASE_URL"] + "/authorize?" + urlencode(sorted(pairs.items()))


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.read()
        if KIND in ("answers-200", "answers-500"):
            return self.show("Hello", int(KIND[-3:]))
        if KIND == "nested":
            return self.show("<div>" * 200_000)
        if KIND == "own-login":
            return self.show(PASSWORD) if self.path == "/password" else self.go("/password")
        if HERE + self.path.partition("?")[0] == CALLBACK:
            return self.finish_login()
        user = self.session.get("user")
        if self.path == "/api/me" and KIND != "subject":
            return self.send(200, "application/json", json.dumps({"user": user}))
        name = user and (KIND != "subject" and (user["name"] or user["username"]) or user["subject"])
        start = START.get(KIND, SIGN_IN)
        page = SCRIPTED if KIND == "scripted" else SIGNED_IN.format(html.escape(name)) if name else start
        if KIND == "link" and not name:
            cookie = self.cookie or secrets.token_urlsafe(32)
            link = html.escape(authorize(SESSIONS.setdefault(cookie, {})))
            return self.show(f'<a href="{link}">Sign in</a>', 200, {"Set-Cookie": self.set_cookie(cookie)})
        if KIND == "csrf" and not name:
            return self.show_with_token()
        if KIND == "guestbook":
            page += "".join(f"<p>{html.escape(it)}</p>" for it in ENTRIES) + (ENTRY if name else "")
        self.show(page, 200 if self.path == "/" else 404)

    def show_with_token(self):
        cookie, token = self.cookie or secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        SESSIONS.setdefault(cookie, {})["csrf"] = token
        self.show(CSRF.format(token), 200, {"Set-Cookie": self.set_cookie(cookie)})

    def do_POST(self):
        form = self.read()
        if KIND in ("answers-200", "answers-500"):
            return self.show("Hello", int(KIND[-3:]))
        if KIND == "failing" and self.path.startswith("/login/"):
            return self.show("Sorry", 500)
        if KIND == "guestbook" and self.path == "/entries" and self.session.get("user"):
            ENTRIES.append(f"{form['text'][0]}, by {self.session['user']['name']}")
        if KIND in ("dead-button", "own-login") or self.path not in ("/login", "/logout", "/api/login"):
            return self.go("/")
        if KIND == "csrf" and self.path == "/login" and form.get("csrf") != [self.session.get("csrf", "-")]:
            return self.show("Forbidden", 403)
        SESSIONS.pop(self.cookie, None)
        if self.path == "/logout":
            return self.go("/")
        cookie, key = secrets.token_urlsafe(32), ONE_KEY if KIND == "one-key" else secrets.token_urlsafe(32)
        if form.get("flow") == ["legacy"]:
            SESSIONS[cookie] = {"user": self.session.get("user")}
            return self.go(authorize(SESSIONS[cookie]), {"Set-Cookie": self.set_cookie(cookie)})
        provider = form.get("provider", ["github"])[0]
        try:
            url = call("/v1/login/session", session_key=key, provider=provider)["authorization_url"]
        except OSError:
            return self.show("The sign-in is unavailable.")
        SESSIONS[cookie] = {"key": key, "user": self.session.get("user")}
        if self.path == "/api/login":
            return self.send(200, "application/json", json.dumps({"url": url}), {"Set-Cookie": self.set_cookie(cookie)})
        if form.get("flow") == ["script"]:
            script = f"<script>sessionStorage.key = '{key}'; location.href = '{url}'</script>"
            return self.show(script, 200, {"Set-Cookie": self.set_cookie(cookie)})
        self.go(url, {"Set-Cookie": self.set_cookie(cookie)})

    def do_HEAD(self):
        if KIND == "dying":
            print("no such method", flush=True)
            os._exit(3)
        self.send(405, "text/plain", "")

    def finish_login(self):
        key = self.session.pop("key", None)
        sent = parse_qs(self.path.partition("?")[2])
        state = self.session.pop("state", None)
        try:
            if "code" in sent and sent.get("state") == [state]:
                verifier = self.session.pop("verifier")
                token = call("/v1/token", grant_type="authorization_code", code=sent["code"][0], code_verifier=verifier)
                bearer = {"Authorization": "Bearer " + token["access_token"]}
                result = {"status": "succeeded", "profile": ask("/v1/profile", None, bearer)}
            else:
                result = call("/v1/login/result", session_key=key) if key else {}
        except (OSError, ValueError):
            result = {}
        if result.get("status") != "succeeded":
            failed = 'That did not work. <a href="/">Start again</a>'
            return self.show(SCRIPTED if KIND == "scripted" else failed)
        SESSIONS.pop(self.cookie, None)
        cookie = secrets.token_urlsafe(32)
        SESSIONS[cookie] = {"user": result["profile"]}
        self.go("/", {"Set-Cookie": self.set_cookie(cookie)})

    def read(self):
        time.sleep(SECONDS)
        sent = SimpleCookie(self.headers.get("Cookie", "")).get("sid")
        self.cookie = sent.value if sent else None
        self.session = SESSIONS.get(self.cookie, {})
        return parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def set_cookie(self, value):
        site = "None" if KIND == "dropped" else "Lax"
        return f"sid={value}; Path=/; HttpOnly; SameSite={site}; Max-Age=3600"

    def show(self, body, status=200, headers=None):
        page = f"<!doctype html><title>App</title><body>{body}</body>"
        self.send(status, "text/html; charset=utf-8", page, headers)

    def go(self, location, headers=None):
        self.send(303, "text/plain", "", {"Location": location} | (headers or {}))

    def send(self, status, media_type, body, headers=None):
        body = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": media_type, "Content-Length": len(body), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Pages).serve_forever()
