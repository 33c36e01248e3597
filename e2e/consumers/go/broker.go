// The calls to the broker: each is sent once, within its time, and its answer is checked.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"mime"
	"net/http"
	"net/url"
	"regexp"
)

const maxAnswerBytes = 64 * 1024

// A problem ends a request with the page of this name.
type problem string

func require(isSo bool, name problem) {
	if !isSo {
		panic(name)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

type fields map[string]string

func (it fields) and(more fields) fields {
	for name, value := range more {
		it[name] = value
	}
	return it
}

// [call] It returns the JSON of a successful answer. The problem is "refused", or "lost" when it is
// unknown what the broker did: then nothing is sent again, and the user starts again.
func (r *request) call(method, path string, body fields, token string) map[string]any {
	answer, status, err := send(r.calls, method, broker+path, body, token)
	if err != nil { // its own text may quote a secret
		log.Printf("No answer of %s: %T", path, err)
	}
	require(err == nil && answer != nil, "lost")
	_, isError := answer["error"].(string)
	require(status < 400 || status >= 500 || !isError, "refused")
	require(status == 200, "lost") // a proxy in between answers by itself, too
	return answer
}

// [revoke] Should this fail, the token ends by itself.
func (r *request) revoke(token string) {
	defer func() { recover() }()
	r.call("POST", "/v1/revoke", nil, token)
}

// [check_start] The address is of the broker's origin, without query, fragment or credentials: users
// are sent nowhere else.
func checkStart(answer map[string]any) string {
	address, _ := answer["authorization_url"].(string)
	require(regexp.MustCompile(`^`+regexp.QuoteMeta(broker)+`/[\w./~%-]+$`).MatchString(address), "lost")
	require(len(address) < 2000 && answer["expires_in"] == 600.0, "lost")
	return address
}

// [check_token]
func checkToken(answer map[string]any) string {
	token, _ := answer["access_token"].(string)
	require(regexp.MustCompile(`^[\w-]+_[\w-]{43}$`).MatchString(token), "lost")
	require(answer["token_type"] == "Bearer" && answer["expires_in"] == 900.0 && answer["scope"] == "profile", "lost")
	return token
}

// [check_profile] Names and addresses may be null, but are there; the rest is never null. A map has the
// members as they are written: a struct would take `Subject` for `subject`, and no value for an empty one.
func checkProfile(answer any, provider string) map[string]any {
	profile, _ := answer.(map[string]any)
	require(profile["provider"] == provider, "lost")
	for _, name := range []string{"subject", "providerSubject"} {
		value, isText := profile[name].(string)
		require(isText && value != "", "lost")
	}
	for _, name := range []string{"name", "username", "email", "avatarUrl"} {
		value, isThere := profile[name]
		_, isText := value.(string)
		require(isThere && (isText || value == nil), "lost")
	}
	_, isBool := profile["emailVerified"].(bool)
	require(isBool, "lost")
	return profile
}

// [send] The context is one limit for everything, up to the last byte of a server that drips. A redirect
// would carry the secrets on. Without connections to use again, nothing is sent a second time.
var client = http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
}

func send(limit context.Context, method, address string, body fields, token string) (map[string]any, int, error) {
	sent, _ := json.Marshal(body)
	if body == nil {
		sent = nil
	}
	request, err := http.NewRequestWithContext(limit, method, address, bytes.NewReader(sent))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(http.MaxBytesReader(nil, answer.Body, maxAnswerBytes))
	if err != nil {
		return nil, 0, err
	}
	if kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "application/json" {
		return nil, 0, &url.Error{Op: "read", Err: err}
	}
	var members map[string]any
	err = json.Unmarshal(content, &members)
	return members, answer.StatusCode, err
}

// [/]
