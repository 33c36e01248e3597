package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// [settings] From the environment. Secrets travel over https, or within this machine.

const origin = `https://[\w.-]+(:\d+)?|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?`
const anOrigin = "an address such as https://signin.example (http only within this machine), without a path"

var (
	broker  = setting("SIGNIN_BASE_URL", "", origin, anOrigin)
	here    = setting("CONSUMER_BASE_URL", "http://localhost:5000", origin, anOrigin)
	project = fields{
		"client_id":     setting("SIGNIN_CLIENT_ID", "", ".+", "the project's client_id"),
		"client_secret": setting("SIGNIN_CLIENT_SECRET", "", ".+", "the project's client_secret"),
	}
	port         = setting("PORT", "5000", `\d{1,5}`, "a number")
	maxSessions  = setting("MAX_SESSIONS", "10000", `[1-9]\d{0,6}`, "a number")
	callLimit, _ = time.ParseDuration(setting("CALL_SECONDS", "5", `[1-9]\d?`, "a number") + "s") // all calls of a request together
	database     = setting("SESSIONS_DB", filepath.Join(os.TempDir(), "go-consumer-"+port+".db"), ".+", "a file")
	clock        = os.Getenv("KIT_CLOCK_URL") // the clock of tests
	isSecure     = strings.HasPrefix(here, "https:")
)

const loginSeconds, sessionSeconds, looks = 600, 8 * 3600, 5

func setting(name, initial, pattern, kind string) string {
	value := os.Getenv(name)
	if value == "" {
		value = initial
	}
	if !regexp.MustCompile("^(" + pattern + ")$").MatchString(value) {
		fmt.Fprintf(os.Stderr, "%s is not set to %s.\n", name, kind)
		os.Exit(2)
	}
	return value
}

// [/]
