-- What the server remembers. All times are Unix milliseconds; session ids, cookies and states are
-- kept as SHA-256 digests.

CREATE TABLE IF NOT EXISTS sessions (
    -- AUTOINCREMENT: never given twice. What a running callback refers to must not be another
    -- browser's session afterwards.
    session            INTEGER PRIMARY KEY AUTOINCREMENT,
    id                 BLOB    NOT NULL UNIQUE,
    subject            TEXT, -- once a user has signed in
    token              TEXT, -- if that was by the legacy flow
    signed_in_until_ms INTEGER NOT NULL DEFAULT 0,
    until_ms           INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS sessions_by_end ON sessions (subject IS NULL, until_ms);

-- How many sessions there are, anonymous ones (1) and others (0). To count them at each start
-- would take the longer the more of them an attacker has started.
CREATE TABLE IF NOT EXISTS counts (anonymous INTEGER PRIMARY KEY, sessions INTEGER NOT NULL);
INSERT OR IGNORE INTO counts VALUES (0, 0), (1, 0);
CREATE TRIGGER IF NOT EXISTS opened AFTER INSERT ON sessions BEGIN
    UPDATE counts SET sessions = sessions + 1 WHERE anonymous = (new.subject IS NULL);
END;
CREATE TRIGGER IF NOT EXISTS ended AFTER DELETE ON sessions BEGIN
    UPDATE counts SET sessions = sessions - 1 WHERE anonymous = (old.subject IS NULL);
END;
CREATE TRIGGER IF NOT EXISTS signed_in AFTER UPDATE OF subject ON sessions BEGIN
    UPDATE counts SET sessions = sessions - 1 WHERE anonymous = (old.subject IS NULL);
    UPDATE counts SET sessions = sessions + 1 WHERE anonymous = (new.subject IS NULL);
END;

-- The logins under way.
CREATE TABLE IF NOT EXISTS logins (
    number   INTEGER PRIMARY KEY AUTOINCREMENT, -- later ones are greater
    session  INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    flow     TEXT    NOT NULL,
    provider TEXT    NOT NULL,
    look     BLOB    NOT NULL,
    until_ms INTEGER NOT NULL,
    slot     INTEGER, -- of a clean login, with the cookie that the browser received
    cookie   BLOB,
    state    BLOB,    -- of a legacy login, with its Transaction in JSON
    record   TEXT
);
CREATE INDEX IF NOT EXISTS logins_of_session ON logins (session);

-- The keys of clean logins. They have a table of their own: a callback takes a key out, and the
-- login is still there for the next callback, which learns that its key is taken.
CREATE TABLE IF NOT EXISTS session_keys (
    login       INTEGER PRIMARY KEY REFERENCES logins ON DELETE CASCADE,
    session_key TEXT    NOT NULL
);

-- The users. The key is the subject and nothing else: see `accounts.rs`.
CREATE TABLE IF NOT EXISTS accounts (
    subject       TEXT    PRIMARY KEY,
    profile       TEXT    NOT NULL, -- in JSON
    sign_ins      INTEGER NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    last_seen_ms  INTEGER NOT NULL,
    note          TEXT    NOT NULL
);
