"""Odd applications for the tests of the examiner: `app.py KIND`.

`plain` signs in by the clean flow, on the standard library alone. `slow` does so with a
pause before each answer, `scripted` with a page that needs JavaScript, `csrf` with a token
in the form that a visitor alone sees. The others sign no user in: `answers-200`, `answers-500`, `dead-button`, `own-login`,
and `nested`, whose page has 200,000 elements within each other.
"""

import html
import json
import os
import secrets
import sys
import time
import urllib.request
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

KIND = sys.argv[1]
HERE = os.environ.get("CONSUMER_BASE_URL", "http://localhost:5000")
PORT = int(os.environ.get("PORT", 5000))
SECONDS = 0.6 if KIND == "slow" else 0
SESSIONS = {}  # by cookie: {"key": …} under way, {"user": …} signed in

SIGN_IN = """<form method="post" action="/login"><button name="provider" value="google">Google</button>
<button name="provider" value="github">GitHub</button></form>"""
CSRF = SIGN_IN.replace("</form>", '<input type="hidden" name="csrf" value="{}"></form>')
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
    body = json.dumps(fields | {"redirect_uri": HERE + "/callback"}).encode()
    request = urllib.request.Request(os.environ["SIGNIN_BASE_URL"] + path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.read()
        if KIND in ("answers-200", "answers-500"):
            return self.show("Hello", int(KIND[-3:]))
        if KIND == "nested":
            return self.show("<div>" * 200_000)
        if KIND == "own-login":
            return self.show(PASSWORD) if self.path == "/password" else self.go("/password")
        if self.path == "/callback":
            return self.finish_login()
        user = self.session.get("user")
        if self.path == "/api/me":
            return self.send(200, "application/json", json.dumps({"user": user}))
        name = user and (user["name"] or user["username"] or user["subject"])
        page = SCRIPTED if KIND == "scripted" else SIGNED_IN.format(html.escape(name)) if name else SIGN_IN
        if KIND == "csrf" and not name:
            return self.show_with_token()
        self.show(page, 200 if self.path == "/" else 404)

    def show_with_token(self):
        cookie, token = self.cookie or secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        SESSIONS.setdefault(cookie, {})["csrf"] = token
        self.show(CSRF.format(token), 200, {"Set-Cookie": self.set_cookie(cookie)})

    def do_POST(self):
        form = self.read()
        if KIND in ("answers-200", "answers-500"):
            return self.show("Hello", int(KIND[-3:]))
        if KIND in ("dead-button", "own-login") or self.path not in ("/login", "/logout", "/api/login"):
            return self.go("/")
        if KIND == "csrf" and self.path == "/login" and form.get("csrf") != [self.session.get("csrf", "-")]:
            return self.show("Forbidden", 403)
        SESSIONS.pop(self.cookie, None)
        if self.path == "/logout":
            return self.go("/")
        cookie, key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        provider = form.get("provider", ["github"])[0]
        try:
            url = call("/v1/login/session", session_key=key, provider=provider)["authorization_url"]
        except OSError:
            return self.show("The sign-in is unavailable.")
        SESSIONS[cookie] = {"key": key, "user": self.session.get("user")}
        if self.path == "/api/login":
            return self.send(200, "application/json", json.dumps({"url": url}), {"Set-Cookie": self.set_cookie(cookie)})
        self.go(url, {"Set-Cookie": self.set_cookie(cookie)})

    def finish_login(self):
        key = self.session.pop("key", None)
        try:
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
        return f"sid={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600"

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
