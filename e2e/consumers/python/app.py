"""A reference consumer of the Federated Sign-In Service, on Flask: both flows, both providers.
Sessions, logins under way and accounts are in SQLite; all instances of the app use one file."""

import base64, contextlib, hashlib, json, os, re, secrets, socket, sqlite3, sys, threading, time, urllib.request
from urllib.parse import urlencode

import waitress
from flask import Flask, abort, g, redirect, render_template, request, session
from flask.sessions import SessionInterface, SessionMixin
from werkzeug.exceptions import HTTPException, InternalServerError

from broker import Problem, call, check_profile, check_start, check_token, require

# Settings, from the environment. Secrets travel over https, or within this machine.

def setting(name, default="", pattern=r".+", kind="a text"):
    value = os.environ.get(name) or default
    if not re.fullmatch(pattern, value):
        print(f"{name} is {'not' if value else 'missing: set it to'} {kind}.", file=sys.stderr)
        sys.exit(2)
    return value

ORIGIN = (r"https://[\w.-]+(:\d+)?|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?",
          "an address such as https://signin.example (http only within this machine), without a path")
BROKER, HERE = setting("SIGNIN_BASE_URL", "", *ORIGIN), setting("CONSUMER_BASE_URL", "http://localhost:5000", *ORIGIN)
PROJECT = {name: setting(f"SIGNIN_{name.upper()}", kind=f"the project's {name}") for name in ("client_id", "client_secret")}
PORT, CLOCK = int(setting("PORT", "5000", r"\d{1,5}", "a number")), os.environ.get("KIT_CLOCK_URL")  # the clock of tests
MAX_SESSIONS = int(setting("MAX_SESSIONS", "10000", r"[1-9]\d{0,6}", "a number"))
CALL_SECONDS = int(setting("CALL_SECONDS", "5", r"[1-9]\d?", "a number"))  # all calls of a request together
LOGIN_SECONDS, SESSION_SECONDS, LOOKS = 600, 8 * 3600, 5
ERRORS = ("access_denied", "invalid_provider_response", "provider_unavailable")
app = Flask(__name__, static_folder=None)
app.config["MAX_CONTENT_LENGTH"] = 16 * 1024

# The clean flow: the callback carries nothing; the result is read with a key that stays here.

# [start]
@app.post("/login/<any(google, github):provider>")
def start_clean(provider):
    key = secrets.token_urlsafe(32)  # fresh for each login
    fields = {"session_key": key, "provider": provider, "redirect_uri": HERE + "/callback"}
    started = call("POST", BROKER + "/v1/login/session", PROJECT | fields)
    address = check_start(started, BROKER)
    renew_session()
    keep_login("clean", {"key": key, "provider": provider, "looks": LOOKS, "ends": g.now + LOGIN_SECONDS})
    return redirect(address, 303)

# [callback]
@app.get("/callback")
def finish_clean():
    login = take_login("clean")  # one of twenty callbacks gets it, at whichever instance
    if not login and account():
        return redirect("/", 303)
    require(login and g.now < login["ends"], "nothing")
    fields = {"session_key": login["key"], "redirect_uri": HERE + "/callback"}
    match call("POST", BROKER + "/v1/login/result", PROJECT | fields):
        case {"status": "succeeded", "profile": profile}:
            return sign_in(profile, login["provider"])
        case {"status": "failed", "error": error} if error in ERRORS:
            raise Problem(error)
        case {"status": "pending"}:  # not consumed: the user may look again, a few times
            require(login["looks"] > 1, "refused")
            keep_login("clean", login | {"looks": login["looks"] - 1})
            raise Problem("pending")
    raise Problem("lost")
# [/]

# The legacy flow: state and code come back through the browser, the verifier stays here.

# [start_legacy]
@app.post("/legacy/login/<any(google, github):provider>")
def start_legacy(provider):
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    renew_session()
    keep_login("legacy", {"state": state, "verifier": verifier, "provider": provider, "ends": g.now + LOGIN_SECONDS})
    query = {"client_id": PROJECT["client_id"], "redirect_uri": HERE + "/legacy/callback", "provider": provider,
             "state": state, "code_challenge": challenge, "code_challenge_method": "S256"}
    return redirect(f"{BROKER}/authorize?{urlencode(query)}", 303)

# [callback_legacy]
@app.get("/legacy/callback")
def finish_legacy():  # by a redirect, always: no page has the code in its address
    state, code, error = (request.args.getlist(name) for name in ("state", "code", "error"))
    login = find_login("legacy") or {"state": "", "ends": 0}
    require(len(state) == 1 and secrets.compare_digest(state[0].encode(), login["state"].encode()), "refused")
    # Consumed before anything else is looked at: by success and by failure, once.
    require(take_login("legacy") == login and g.now < login["ends"], "refused")
    if not code and len(error) == 1 and error[0] in ERRORS:
        raise Problem(error[0])
    require(not error and len(code) == 1 and 0 < len(code[0]) <= 200, "refused")
    fields = {"grant_type": "authorization_code", "code": code[0], "code_verifier": login["verifier"]}
    answer = call("POST", BROKER + "/v1/token", PROJECT | fields | {"redirect_uri": HERE + "/legacy/callback"})
    token = check_token(answer)
    try:
        profile = call("GET", BROKER + "/v1/profile", token=token)
    finally:  # it has had its one use; should this fail, it ends by itself
        with contextlib.suppress(Problem):
            call("POST", BROKER + "/v1/revoke", token=token)
    return sign_in(profile, login["provider"])

# [sign_in]
def sign_in(profile, provider):
    check_profile(profile, provider)
    renew_session(profile["subject"], g.now + SESSION_SECONDS)
    # The key is the subject and nothing else: e-mail addresses change hands.
    sql("""INSERT INTO accounts (subject, profile) VALUES (?, ?)
           ON CONFLICT DO UPDATE SET profile = excluded.profile, sign_ins = sign_ins + 1""", profile["subject"], json.dumps(profile))
    return redirect("/", 303)
# [/]

# Sessions: all on the server, by the random id in the cookie.

# Each statement commits by itself, in all instances at once. The id of a session is renewed, and its
# logins go on under the new one; they end with it.
TABLES = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, subject TEXT, until REAL, ends REAL, is_anonymous AS (subject IS NULL) STORED);
CREATE INDEX IF NOT EXISTS oldest ON sessions (is_anonymous, ends);
CREATE TABLE IF NOT EXISTS logins (
    session TEXT REFERENCES sessions ON UPDATE CASCADE ON DELETE CASCADE, flow TEXT, login TEXT, PRIMARY KEY (session, flow));
CREATE TABLE IF NOT EXISTS accounts (
    number INTEGER PRIMARY KEY, subject TEXT UNIQUE, profile TEXT, sign_ins INTEGER DEFAULT 1, note TEXT DEFAULT '');
"""
# Another instance that writes is waited for. By default the tables are this process's own, in memory.
DB = sqlite3.connect(os.environ.get("SESSIONS_DB") or ":memory:", timeout=5, isolation_level=None, check_same_thread=False)
DB.executescript(TABLES)
DB.row_factory, LOCK, IS_SECURE = sqlite3.Row, threading.Lock(), HERE.startswith("https:")
# [cookie]
COOKIE = "__Host-flask_session" if IS_SECURE else "flask_session"  # this app's: cookies know no ports
# [/]

def digest(sid):  # what the table has of an id, so that its readers cannot take a session over
    return hashlib.sha256(sid.encode()).hexdigest()

def sql(statement, *values):
    with LOCK:
        return DB.execute(statement, values).fetchall()

class Session(dict, SessionMixin):
    sid = row = max_age = None  # with a max_age, the answer sets the cookie

# [session]
class Sessions(SessionInterface):
    def open_session(self, app, request):
        g.deadline, g.now = time.monotonic() + CALL_SECONDS, time.time()
        with contextlib.suppress(Exception):
            g.now = json.load(urllib.request.urlopen(CLOCK, timeout=5))["now"] if CLOCK else g.now
        # Byte for byte: a parser that decodes names takes `%5F%5FHost-…`, which a sister host
        # may set, for ours. Of two with one name, one was planted, and neither is taken.
        pairs = [pair.strip(" ").partition("=") for pair in request.environ.get("HTTP_COOKIE", "").split(";")]
        ids = [value for name, _, value in pairs if name == COOKIE]
        opened = Session()
        if len(ids) == 1 and sql("SELECT 1 FROM sessions WHERE id = ? AND ends > ?", digest(ids[0]), g.now):
            opened.row = digest(ids[0])  # never one that a browser made up
        return opened

    # [cookie]
    def save_session(self, app, session, response):
        if session.max_age is not None:  # Lax: a Strict cookie does not come back from a provider
            response.set_cookie(COOKIE, session.sid, session.max_age, secure=IS_SECURE, httponly=True, samesite="Lax")
    # [/]

app.session_interface = Sessions()

# [renew_session]
def renew_session(subject=None, until=0):
    """Gives the browser a new id, at the start of a login and at its end. The old one, which an
    attacker may have planted, is dead at once: while the user is away, and afterwards."""
    fresh, ends = secrets.token_urlsafe(32), g.now + LOGIN_SECONDS
    kept = sql("""UPDATE sessions SET id = ?, subject = COALESCE(?, subject), until = MAX(until, ?), ends = MAX(until, ?, ?)
                  WHERE id = ? RETURNING ends""", digest(fresh), subject, until, until, ends, session.row)
    require(kept or not subject, "nothing")  # signed out in another tab meanwhile
    kept = kept or sql("INSERT INTO sessions VALUES (?, NULL, 0, ?) RETURNING ends", digest(fresh), ends)
    session.sid, session.row, session.max_age = fresh, digest(fresh), int(kept[0]["ends"] - g.now)
    # Those of users apart: the start of a login takes no credentials, and must sign no user out. It needs
    # a rate limit by address, too, at your proxy: else 10,000 starts in seconds end every login under way.
    sql("""DELETE FROM sessions WHERE is_anonymous = ?1 AND ends <= ?2 OR rowid IN (
               SELECT rowid FROM sessions WHERE is_anonymous = ?1 ORDER BY ends DESC LIMIT -1 OFFSET ?3)""",
        subject is None, g.now, MAX_SESSIONS)

# [take]
def keep_login(flow, login):
    sql("INSERT OR REPLACE INTO logins SELECT id, ?, ? FROM sessions WHERE id = ?", flow, json.dumps(login), session.row)

def find_login(flow):
    found = sql("SELECT login FROM logins WHERE session = ? AND flow = ?", session.row, flow)
    return json.loads(found[0]["login"]) if found else None

def take_login(flow):
    taken = sql("DELETE FROM logins WHERE session = ? AND flow = ? RETURNING login", session.row, flow)
    return json.loads(taken[0]["login"]) if taken else None
# [/]

def account():
    found = sql("SELECT accounts.* FROM sessions JOIN accounts USING (subject) WHERE id = ? AND until > ?", session.row, g.now)
    return dict(found[0]) | {"profile": json.loads(found[0]["profile"])} if found else None

# Pages

@app.get("/")
@app.get("/problem/<name>")
def home(name=None):
    status = {"nothing": 400, "refused": 400, "lost": 400}.get(name, 200 if name in (None, "pending", *ERRORS) else 404)
    return render_template("page.html", account=account(), problem=name if status < 404 else "404 Not Found"), status

@app.post("/note")
def save_note():
    if found := account():
        sql("UPDATE accounts SET note = ? WHERE number = ?", request.form.get("note", "")[:1000], found["number"])
    return redirect("/", 303)

# [sign_out]
@app.post("/logout")
def sign_out():
    sql("DELETE FROM sessions WHERE id = ?", session.row)  # on the server: a copy of the cookie is worth nothing
    session.sid, session.max_age = "", 0
    return redirect("/", 303)

# [guard]
@app.before_request
def check_request():
    # Any page can send a form here, but a browser says from where. HEAD and a prefetch read nothing.
    origin, site = request.headers.get("Origin", HERE), request.headers.get("Sec-Fetch-Site", "none")
    if request.method == "POST" and (origin != HERE or site not in ("same-origin", "none")):
        abort(403)
    is_prefetch = "prefetch" in request.headers.get("Sec-Purpose", "").lower()
    if request.path.endswith("/callback") and (is_prefetch or request.method == "HEAD"):
        return "", 503 if is_prefetch else 200

# [headers]
@app.after_request
def add_headers(response):
    # No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
    # `no-referrer`: the broker checks that a login begins on a page of ours.
    response.headers["Content-Security-Policy"] = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    response.headers["Referrer-Policy"] = "strict-origin-when-cross-origin"
    response.headers |= {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return response

# [error_page]
@app.errorhandler(Exception)
def error_page(error):
    if isinstance(error, Problem):
        return redirect(f"/problem/{error}", 303)
    if not isinstance(error, HTTPException):
        app.logger.error("A request ended by a %s", type(error).__name__)  # its own text may quote a secret
        error = InternalServerError()
    response = error.get_response()
    response.set_data(render_template("page.html", account=account(), problem=response.status))
    return response
# [/]

if __name__ == "__main__":
    listeners = [socket.create_server(("127.0.0.1", PORT))]
    with contextlib.suppress(OSError):  # `localhost` may mean either
        listeners.append(socket.create_server(("::1", PORT), family=socket.AF_INET6))
    waitress.serve(app, sockets=listeners, threads=64, ident=None)
