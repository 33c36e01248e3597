// Sessions and logins under way, in tables that several processes may share.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"syscall"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

// [store] What is used once is taken by one statement. The start of a login takes no credentials, and
// must sign no user out: the sessions of users are counted apart. It needs a rate limit by address, too,
// at your proxy: else 10,000 starts in seconds end every login under way.
const schema = `
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS sessions (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	subject TEXT, until REAL NOT NULL DEFAULT 0, ends REAL NOT NULL);
CREATE TABLE IF NOT EXISTS logins (session INTEGER REFERENCES sessions ON DELETE CASCADE, flow TEXT, state TEXT,
	secret TEXT, provider TEXT, looks INTEGER, ends REAL, PRIMARY KEY (session, flow));
CREATE TABLE IF NOT EXISTS accounts (number INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, profile TEXT NOT NULL,
	sign_ins INTEGER NOT NULL DEFAULT 1, note TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS by_end ON sessions (subject IS NULL, ends);`

var db = func() *sql.DB {
	syscall.Umask(0o077) // the file is for no other user of this machine
	options := "?_busy_timeout=5000&_foreign_keys=on&_synchronous=NORMAL"
	db, err := sql.Open("sqlite3", "file:"+database+options)
	must(err)
	for tries := 0; tries < 100; tries++ {
		if _, err = db.Exec(schema); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond) // another process makes the file: SQLite does not wait for that
	}
	must(err)
	return db
}()

func execute(statement string, values ...any) int64 {
	result, err := db.Exec(statement, values...)
	must(err)
	changed, err := result.RowsAffected()
	must(err)
	return changed
}

// query reads the first row, if there is one.
func query(statement string, values []any, into ...any) bool {
	err := db.QueryRow(statement, values...).Scan(into...)
	if !errors.Is(err, sql.ErrNoRows) {
		must(err)
	}
	return err == nil
}

// [take] A login under way: `secret` is its key or its verifier.
type login struct {
	flow, state, secret, provider string
	looks                         int
	ends                          float64
}

// take gives each login to one request, of all that ask at once, in every process.
func (r *request) take(flow, state string) (taken login, isFound bool) {
	taken.flow, taken.state = flow, state
	isFound = query(`DELETE FROM logins WHERE session = ? AND flow = ? AND state = ?
		RETURNING secret, provider, looks, ends`, []any{r.number, flow, digest(state)},
		&taken.secret, &taken.provider, &taken.looks, &taken.ends)
	return taken, isFound && r.now < taken.ends
}

// keep stores it, unless the session has ended or has a newer one.
func (r *request) keep(it login) {
	execute(`INSERT OR IGNORE INTO logins SELECT number, ?, ?, ?, ?, ?, ? FROM sessions WHERE number = ?`,
		it.flow, digest(it.state), it.secret, it.provider, it.looks, it.ends, r.number)
}

// [page] What the user sees of their own account.
type account struct {
	Number, SignIns int
	Profile         map[string]any
	Note            string
}

// user is the account of the user who is signed in, or nil.
func (r *request) user() *account {
	var found account
	var profile []byte
	isFound := query(`SELECT accounts.number, sign_ins, profile, note FROM sessions JOIN accounts USING (subject)
		WHERE id = ? AND until > ?`, []any{r.id, r.now}, &found.Number, &found.SignIns, &profile, &found.Note)
	if !isFound {
		return nil
	}
	must(json.Unmarshal(profile, &found.Profile))
	return &found
}

func (r *request) saveNote(note string) {
	execute(`UPDATE accounts SET note = substr(?, 1, 1000)
		WHERE subject = (SELECT subject FROM sessions WHERE id = ? AND until > ?)`, note, r.id, r.now)
	r.redirect("/")
}

// [session] A request with its session, which is on the server, by the random id in the cookie.
type request struct {
	w http.ResponseWriter
	*http.Request
	calls  context.Context // the time limit of all calls of the broker
	now    float64
	id     string // the digest of the cookie; empty if it opens no session
	number int64
}

func (r *request) open() {
	r.now = float64(time.Now().UnixMilli()) / 1000
	if clock != "" {
		answer, _, err := send(r.calls, "GET", clock, nil, "")
		must(err)
		r.now = answer["now"].(float64)
	}
	// Cookies() leaves names as they are. Of two with one name, one was planted, and neither is taken.
	var ids []string
	for _, it := range r.Cookies() {
		if it.Name == cookieName {
			ids = append(ids, digest(it.Value))
		}
	}
	if len(ids) == 1 {
		query("SELECT id, number FROM sessions WHERE id = ? AND ends > ?", []any{ids[0], r.now}, &r.id, &r.number)
	}
}

// [renew_session] It gives the browser a new id, at the start of a login and at its end. The old one,
// which an attacker may have planted, is dead at once: while the user is away, and afterwards.
func (r *request) renewSession(started login) {
	id, ends := secret(), r.now+loginSeconds
	isKept := query(`UPDATE sessions SET id = ?, ends = max(until, ?), subject = iif(until > ?, subject, NULL)
		WHERE id = ? RETURNING number, ends`, []any{digest(id), ends, r.now, r.id}, &r.number, &ends)
	if !isKept {
		query("INSERT INTO sessions (id, ends) VALUES (?, ?) RETURNING number", []any{digest(id), ends}, &r.number)
	}
	execute("DELETE FROM logins WHERE session = ? AND flow = ?", r.number, started.flow)
	r.keep(started)
	for _, isVisitor := range []bool{true, false} {
		execute(`DELETE FROM sessions WHERE (subject IS NULL) = ?1 AND ends <= coalesce((SELECT ends FROM sessions
			WHERE (subject IS NULL) = ?1 ORDER BY ends DESC LIMIT 1 OFFSET ?2), ?3)`, isVisitor, maxSessions, r.now)
	}
	r.setCookie(id, ends)
}

// [cookie]
var cookieName = map[bool]string{true: "__Host-go_session", false: "go_session"}[isSecure] // cookies know no ports

func (r *request) setCookie(id string, ends float64) {
	http.SetCookie(r.w, &http.Cookie{Name: cookieName, Value: id, Path: "/", MaxAge: int(ends - r.now), HttpOnly: true,
		Secure: isSecure, SameSite: http.SameSiteLaxMode}) // a Strict one does not come back from a provider
}

func secret() string {
	bytes := make([]byte, 32)
	_, err := rand.Read(bytes)
	must(err)
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
