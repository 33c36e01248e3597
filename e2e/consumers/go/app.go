// A reference consumer of the Federated Sign-In Service, on net/http: both flows, both providers.
// Sessions and accounts are tables of SQLite, which several processes may share.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"html/template"
	"log"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// [start] The clean flow: the callback carries nothing; the result is read with a key that stays here.
func (r *request) startClean(provider string) {
	key := secret() // fresh for each login
	body := fields{"session_key": key, "provider": provider, "redirect_uri": here + "/callback"}
	address := checkStart(r.call("POST", "/v1/login/session", body.and(project), ""))
	r.renewSession(login{"clean", "", key, provider, looks, r.now + loginSeconds})
	r.redirect(address)
}

// [callback]
func (r *request) finishClean() {
	found, isFound := r.take("clean", "")
	if !isFound && r.user() != nil {
		r.redirect("/")
		return
	}
	require(isFound, "nothing")
	body := fields{"session_key": found.secret, "redirect_uri": here + "/callback"}
	result := r.call("POST", "/v1/login/result", body.and(project), "")
	failure, _ := result["error"].(string)
	switch status := result["status"]; {
	case status == "succeeded":
		r.signIn(result["profile"], found.provider)
	case status == "failed" && isFailure[failure]:
		panic(problem(failure))
	case status == "pending": // not consumed: the user may look again, a few times
		require(found.looks > 1, "refused")
		found.looks--
		r.keep(found)
		panic(problem("pending"))
	default:
		panic(problem("lost"))
	}
}

// [start_legacy] The legacy flow: state and code come back through the browser, the verifier stays here.
func (r *request) startLegacy(provider string) {
	state, verifier := secret(), secret()
	r.renewSession(login{"legacy", state, verifier, provider, 1, r.now + loginSeconds})
	query := url.Values{
		"client_id": {project["client_id"]}, "redirect_uri": {here + "/legacy/callback"}, "provider": {provider},
		"state": {state}, "code_challenge": {digest(verifier)}, "code_challenge_method": {"S256"},
	}
	r.redirect(broker + "/authorize?" + query.Encode())
}

// [callback_legacy] It ends in a redirect, always: no page has the code in its address.
func (r *request) finishLegacy() {
	query, err := url.ParseQuery(r.URL.RawQuery) // URL.Query() leaves out what it cannot read
	state, code, failure := query["state"], query["code"], query["error"]
	require(err == nil && len(state) == 1, "refused")
	// Consumed before anything else is looked at: by success and by failure, once.
	found, isFound := r.take("legacy", state[0])
	require(isFound, "refused")
	if len(code) == 0 && len(failure) == 1 && isFailure[failure[0]] {
		panic(problem(failure[0]))
	}
	require(len(failure) == 0 && len(code) == 1 && 0 < len(code[0]) && len(code[0]) <= 200, "refused")
	body := fields{"grant_type": "authorization_code", "code": code[0], "code_verifier": found.secret}
	body["redirect_uri"] = here + "/legacy/callback"
	token := checkToken(r.call("POST", "/v1/token", body.and(project), ""))
	defer r.revoke(token) // it has its one use
	r.signIn(r.call("GET", "/v1/profile", nil, token), found.provider)
}

// [sign_in]
func (r *request) signIn(answer any, provider string) {
	profile := checkProfile(answer, provider)
	text, err := json.Marshal(profile)
	must(err)
	id, until := secret(), r.now+sessionSeconds
	// A new id again: an attacker may know the old one. If it is gone, the user has signed out meanwhile.
	changed := execute("UPDATE sessions SET id = ?, subject = ?, until = ?, ends = ? WHERE id = ?",
		digest(id), profile["subject"], until, until, r.id)
	require(changed == 1, "nothing")
	// The key is the subject and nothing else: e-mail addresses change hands.
	execute(`INSERT INTO accounts (subject, profile) VALUES (?, ?) ON CONFLICT (subject)
		DO UPDATE SET profile = excluded.profile, sign_ins = sign_ins + 1`, profile["subject"], text)
	r.setCookie(id, until)
	r.redirect("/")
}

// [sign_out]
func (r *request) signOut() {
	execute("DELETE FROM sessions WHERE id = ?", r.id) // on the server: a copy of the cookie is worth nothing
	r.setCookie("", r.now-1)
	r.redirect("/")
}

// [page] Whatever came from elsewhere is escaped by html/template.
//
//go:embed page.html
var source string
var pages = template.Must(template.New("page").Parse(source))

func (r *request) page(status int, problem string) {
	r.write(status, problem, r.user())
}

func (r *request) write(status int, problem string, user *account) {
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(status)
	must(pages.Execute(r.w, map[string]any{"User": user, "Problem": problem, "IsPending": problem == problems["pending"].text}))
}

func (r *request) redirect(address string) {
	r.w.Header().Set("Location", address)
	r.w.WriteHeader(http.StatusSeeOther)
}

// [error_page] The status and the words of each problem that ends a request.
type problemPage struct {
	status int
	text   string
}

var problems = map[string]problemPage{
	"access_denied":             {200, "You cancelled the sign-in. Nothing was shared with us."},
	"invalid_provider_response": {200, "The provider's answer did not prove who you are."},
	"provider_unavailable":      {200, "The provider did not answer. Try again in a moment."},
	"pending":                   {200, "The sign-in is not finished. Perhaps it is open in another tab."},
	"nothing":                   {400, "No sign-in is under way here. Finish it in the browser in which you start it."},
	"refused":                   {400, "The sign-in took too long, was finished before, or began in another browser."},
	"lost":                      {400, "The sign-in service did not answer as it should. You were not signed in. Please start again."},
}
var isFailure = map[string]bool{"access_denied": true, "invalid_provider_response": true, "provider_unavailable": true}

// A handler ends early by a panic with its problem, and the user sees the page of that name.
func (r *request) showProblem(thrown any) {
	if name, isProblem := thrown.(problem); isProblem {
		r.redirect("/problem/" + string(name))
	} else if thrown != nil {
		log.Printf("A request ended by a %T", thrown) // its own text may quote a secret
		r.write(http.StatusInternalServerError, "500 Internal Server Error", nil)
	}
}

// [guard] Any page can send a form here, but a browser says from where. HEAD and a prefetch read nothing.
func (r *request) isRefused() bool {
	from, site := r.Header.Values("Origin"), r.Header.Get("Sec-Fetch-Site")
	isOurs := (len(from) == 0 || len(from) == 1 && from[0] == here) && (site == "" || site == "same-origin" || site == "none")
	isPrefetch := strings.Contains(strings.ToLower(r.Header.Get("Sec-Purpose")), "prefetch")
	switch isCallback := strings.HasSuffix(r.URL.Path, "/callback"); {
	case r.Method == "POST" && !isOurs:
		r.page(http.StatusForbidden, "403 Forbidden")
	case isCallback && isPrefetch:
		r.w.WriteHeader(http.StatusServiceUnavailable)
	case !isCallback || r.Method != "HEAD":
		return false
	}
	return true
}

// [headers] No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
// `no-referrer`: the broker checks that a login begins on a page of ours.
func setHeaders(headers http.Header) {
	headers.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
	headers.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	headers.Set("X-Content-Type-Options", "nosniff")
	headers.Set("Cache-Control", "no-store")
}

// [server]
func serve(w http.ResponseWriter, incoming *http.Request) {
	setHeaders(w.Header())
	calls, cancel := context.WithTimeout(incoming.Context(), callLimit)
	defer cancel()
	r := &request{w: w, Request: incoming, calls: calls}
	defer func() { r.showProblem(recover()) }()
	r.open()
	if r.isRefused() {
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /login/google", "POST /login/github":
		r.startClean(path.Base(r.URL.Path))
	case "GET /callback":
		r.finishClean()
	case "POST /legacy/login/google", "POST /legacy/login/github":
		r.startLegacy(path.Base(r.URL.Path))
	case "GET /legacy/callback":
		r.finishLegacy()
	case "POST /logout":
		r.signOut()
	case "POST /note":
		r.Body = http.MaxBytesReader(w, r.Body, 16*1024)
		r.saveNote(r.PostFormValue("note"))
	case "GET /", "HEAD /":
		r.page(http.StatusOK, "")
	default:
		shown, isProblem := problems[strings.TrimPrefix(r.URL.Path, "/problem/")]
		if !isProblem {
			shown = problemPage{http.StatusNotFound, "404 Not Found"}
		}
		r.page(shown.status, shown.text)
	}
}

func main() {
	server := http.Server{Handler: http.HandlerFunc(serve), ReadHeaderTimeout: 10 * time.Second}
	if also, err := net.Listen("tcp6", "[::1]:"+port); err == nil { // `localhost` may mean either
		go server.Serve(also)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+port)
	must(err)
	must(server.Serve(listener))
}
