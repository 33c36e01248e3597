"""The least backend that signs users in through the broker, by the clean flow: to read, and to
begin with. Its logins and sessions are in memory: in an application of yours they are tables that
all its processes share. The start of a login needs a rate limit by address at your proxy: it takes
no credentials, and ends the oldest login when all places are taken."""

import asyncio, collections, html, os, re, secrets, time

import httpx
from flask import Flask, abort, after_this_request, make_response, redirect, request

BROKER, HERE = os.environ["SIGNIN_BASE_URL"], os.environ.get("CONSUMER_BASE_URL", "http://localhost:5000")
PROJECT = {name: os.environ[f"SIGNIN_{name.upper()}"] for name in ("client_id", "client_secret")}
PROJECT["redirect_uri"] = HERE + "/callback"
app, MAX_SESSIONS, IS_SECURE = Flask(__name__), int(os.environ.get("MAX_SESSIONS", 10_000)), HERE.startswith("https:")
SESSION_COOKIE = "__Host-minimal" if IS_SECURE else "minimal"
LOGIN_COOKIES = [f"{SESSION_COOKIE}_login_{number}" for number in range(4)]
# By their cookies, the oldest first. Apart, so that starting logins signs no user out.
LOGINS, SESSIONS = collections.OrderedDict(), collections.OrderedDict()
NO_LOGIN = "No finished sign-in was found in this browser. Please start again."

# The sign-in

@app.post("/login/<any(google, github):provider>")
def start_login(provider):
    key = secrets.token_urlsafe(32)  # new for each login; it stays in the backend
    login = call_broker("/v1/login/session", session_key=key, provider=provider)
    keep_login(key=key, provider=provider)  # under a new cookie, of this login alone
    return redirect(address_of(login), 303)  # the broker's alone

@app.get("/callback")
def finish_login():
    for cookie, login in take_logins():  # this browser's, newest first, and taken out: read once
        result = call_broker("/v1/login/result", session_key=login["key"])
        if result.get("status") != "pending":
            renew_session(subject_of(result, login["provider"]))  # the key of the account
            return redirect("/", 303)
        LOGINS[cookie] = login  # put back: another tab's
    return page(NO_LOGIN, 400)

# What it needs

def call_broker(path, **fields):
    """Sent once. If the answer is lost, or is not the broker's, a new login is the only way."""
    async def send():
        async with httpx.AsyncClient(timeout=None) as client:
            return await client.post(BROKER + path, json=PROJECT | fields)
    answer = asyncio.run(asyncio.wait_for(send(), 5))  # seconds, up to the last byte
    is_json = answer.headers.get("Content-Type", "").partition(";")[0] == "application/json"
    require(answer.status_code == 200 and is_json and isinstance(answer.json(), dict))
    return answer.json()

def address_of(login):  # of the broker's origin, without query: users are sent nowhere else
    address = str(login.get("authorization_url"))
    return require(re.fullmatch(re.escape(BROKER) + r"/[\w./~%-]+", address, re.ASCII))[0]

def subject_of(result, provider):
    match result:
        case {"status": "failed", "error": str(error)}:
            abort(make_response(page(f"The sign-in failed: {error}.")))
        case {"status": "succeeded", "profile": {
            "subject": str(subject), "providerSubject": str(), "provider": its, "emailVerified": bool(),
            "name": str() | None, "username": str() | None, "email": str() | None, "avatarUrl": str() | None,
        }}:
            return require(its == provider and subject)
    raise ValueError

def require(it):
    if not it:
        raise ValueError
    return it

def cookies():
    """Byte for byte. Of two with one name, one was planted, and neither is taken."""
    found = {}
    for pair in request.environ.get("HTTP_COOKIE", "").split(";"):
        name, _, value = pair.strip(" ").partition("=")
        found[name] = None if name in found else value
    return found

def keep(table, name, seconds, value):
    cookie = secrets.token_urlsafe(32)
    table[cookie] = value | {"ends": time.time() + seconds}
    while len(table) > MAX_SESSIONS:
        table.popitem(last=False)

    @after_this_request
    def set_cookie(response):  # Lax: a Strict cookie does not come back from a provider
        response.set_cookie(name, cookie, seconds, secure=IS_SECURE, httponly=True, samesite="Lax")
        return response

def keep_login(**login):
    free = [name for name in LOGIN_COOKIES if cookies().get(name) not in LOGINS]
    keep(LOGINS, (free or LOGIN_COOKIES)[0], 600, login)

def take_logins():
    for name, cookie in reversed(cookies().items()):  # a browser sends the newest last
        login = LOGINS.pop(cookie, None) if name in LOGIN_COOKIES else None
        if login and time.time() < login["ends"]:
            yield cookie, login

def renew_session(subject):
    SESSIONS.pop(cookies().get(SESSION_COOKIE), None)  # an attacker may know the old one
    keep(SESSIONS, SESSION_COOKIE, 8 * 3600, {"subject": subject})

@app.post("/logout")
def sign_out():
    SESSIONS.pop(cookies().get(SESSION_COOKIE), None)  # here, for a copy of the cookie may exist
    return redirect("/", 303)

@app.get("/")
def home():
    session = SESSIONS.get(cookies().get(SESSION_COOKIE), {"ends": 0})
    return page(f"Signed in as {session['subject']}." if time.time() < session["ends"] else "You are signed out.")

@app.before_request
def check_request():
    if request.method == "POST" and request.headers.get("Origin") != HERE:
        abort(403)  # any page can send a form here, but its browser names it
    is_prefetch = "prefetch" in request.headers.get("Sec-Purpose", "")
    if request.path == "/callback" and (is_prefetch or request.method == "HEAD"):
        abort(503)  # no user sees the answer

@app.after_request
def add_headers(response):
    # No `form-action`: it stops the redirects after a form. No `no-referrer`: the broker looks for it.
    response.headers |= {
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store",
        "Referrer-Policy": "strict-origin-when-cross-origin", "X-Content-Type-Options": "nosniff",
    }
    return response

@app.errorhandler(ValueError)
@app.errorhandler(TimeoutError)
@app.errorhandler(httpx.HTTPError)
def no_answer(_error):  # its text may quote what was sent
    return page("We did not get an answer. Please start again.", 400)

def page(text, status=200):
    button = '<form method="post" action="{}"><button>{}</button></form>'.format
    buttons = button("/login/google", "Sign in with Google") + button("/logout", "Sign out")
    return f"<!doctype html><title>App</title><p>{html.escape(text)}</p>{buttons}", status

if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", 5000)))
