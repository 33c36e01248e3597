-- Plain rowid tables: measured faster than WITHOUT ROWID at every size.
-- Times are Unix milliseconds. Secrets are SHA-256 digests. A row may go once
-- now >= known_until_ms; what is readable in it ends earlier.

CREATE TABLE logins (
    key_digest     BYTES   NOT NULL UNIQUE,
    handle_digest  BYTES   NOT NULL UNIQUE,
    login          TEXT    NOT NULL,
    project        TEXT    NOT NULL,
    redirect_uri   TEXT    NOT NULL,
    provider       TEXT    NOT NULL,
    browser        BYTES,
    stage          TEXT    NOT NULL CHECK (stage IN ('pending', 'settled', 'consumed')),
    profile        TEXT,
    error          TEXT,
    ends_ms        BIGINT  NOT NULL,
    known_until_ms BIGINT  NOT NULL
);
CREATE INDEX logins_known ON logins (known_until_ms);
CREATE INDEX logins_profile ON logins (ends_ms) WHERE profile IS NOT NULL;

CREATE TABLE spent_trips (
    trip           BYTES   NOT NULL UNIQUE,
    known_until_ms BIGINT  NOT NULL
);
CREATE INDEX spent_trips_known ON spent_trips (known_until_ms);

-- A code until token_digest is set, a token afterwards.
CREATE TABLE grants (
    code_digest    BYTES   NOT NULL UNIQUE,
    login          TEXT    NOT NULL,
    project        TEXT    NOT NULL,
    callback       BYTES   NOT NULL,
    challenge      TEXT    NOT NULL,
    profile        TEXT,
    code_ends_ms   BIGINT  NOT NULL,
    token_digest   BYTES   UNIQUE,
    token_ends_ms  BIGINT,
    known_until_ms BIGINT  NOT NULL
);
CREATE INDEX grants_known ON grants (known_until_ms);
CREATE INDEX grants_profile ON grants (coalesce(token_ends_ms, code_ends_ms)) WHERE profile IS NOT NULL;
