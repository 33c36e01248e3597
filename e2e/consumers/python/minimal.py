"""The least backend that signs users in through the broker, by the clean flow: to read. To
copy, take `app.py` beside it, which answers more attacks. Its sessions are in memory: in an
application of yours they are a table, whose rows end after a time. The start of a login needs
a rate limit by address at your proxy: it takes no credentials, and ends the oldest when all
places are taken."""

import html, os, secrets
from collections import OrderedDict

import httpx
from flask import Flask, abort, after_this_request, redirect, request

BROKER, HERE = os.environ["SIGNIN_BASE_URL"], os.environ.get("CONSUMER_BASE_URL", "http://localhost:5000")
PROJECT = {name: os.environ[f"SIGNIN_{name.upper()}"] for name in ("client_id", "client_secret")}
PROJECT["redirect_uri"] = HERE + "/callback"
app, MAX_SESSIONS = Flask(__name__), int(os.environ.get("MAX_SESSIONS", 10_000))
# By cookie, the oldest first. Those of users apart: starting logins signs no user out.
ANONYMOUS, USERS = OrderedDict(), OrderedDict()

# The sign-in

@app.post("/login/<provider>")
def start_login(provider):
    key = secrets.token_urlsafe(32)  # fresh for each login; it stays in the backend
    login = call_broker("/v1/login/session", session_key=key, provider=provider)
    renew_session(session_key=key)  # a new cookie: an attacker may know the old one
    return redirect(login["authorization_url"], 303)

@app.get("/callback")
def finish_login():
    key = session().pop("session_key", None) or abort(400)  # taken out: a result is read once
    result = call_broker("/v1/login/result", session_key=key)
    if result["status"] != "succeeded":
        return page(f"The sign-in failed: {result.get('error', 'pending')}.")
    renew_session(user=result["profile"]["subject"])  # the key of the account
    return redirect("/", 303)

# What it needs

def call_broker(path, **fields):
    """Sent once. If the answer is lost, a new login is the only way: httpx repeats nothing."""
    answer = httpx.post(BROKER + path, json=PROJECT | fields, timeout=5)
    return answer.raise_for_status().json()

def session():
    cookie = request.cookies.get("minimal")
    return ANONYMOUS.get(cookie) or USERS.get(cookie, {})

def renew_session(**values):
    """The same session with these values, under a new cookie; the old one is worth nothing."""
    old, cookie = request.cookies.get("minimal"), secrets.token_urlsafe(32)
    kept = (ANONYMOUS.pop(old, None) or USERS.pop(old, {})) | values
    table = USERS if "user" in kept else ANONYMOUS
    table[cookie] = kept
    if len(table) > MAX_SESSIONS:
        table.popitem(last=False)

    @after_this_request
    def set_cookie(response):  # Lax: a Strict cookie does not come back from a provider
        is_secure = HERE.startswith("https:")
        response.set_cookie("minimal", cookie, 8 * 3600, secure=is_secure, httponly=True, samesite="Lax")
        return response

@app.after_request
def add_headers(response):
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
    return response

@app.get("/")
def home():
    user = session().get("user")
    return page(f"Signed in as {user}." if user else "You are signed out.")

@app.errorhandler(400)
def no_login(_error):
    return page("No sign-in is under way in this browser.", 400)

@app.errorhandler(httpx.HTTPError)
def no_answer(_error):  # its text may quote what was sent
    return page("We did not get an answer. Please start again.", 502)

def page(text, status=200):
    button = '<form method="post" action="/login/google"><button>Sign in with Google</button></form>'
    return f"<!doctype html><title>App</title><p>{html.escape(text)}</p>{button}", status

if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", 5000)))
