<?php // Sessions and logins under way, in tables that several processes may share.
declare(strict_types=1);

// [store] What is used once is taken by one statement. The start of a login takes no credentials, and must
// sign no user out: the sessions of users are counted apart. It needs a rate limit by address, too, at
// your proxy: else 10,000 starts in seconds end every login under way.
const SCHEMA = "
PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS sessions (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    subject TEXT, until REAL NOT NULL DEFAULT 0, ends REAL NOT NULL);
CREATE TABLE IF NOT EXISTS logins (session INTEGER REFERENCES sessions ON DELETE CASCADE, flow TEXT, state TEXT,
    secret TEXT, provider TEXT, looks INTEGER, ends REAL, PRIMARY KEY (session, flow));
CREATE TABLE IF NOT EXISTS accounts (number INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, profile TEXT NOT NULL,
    sign_ins INTEGER NOT NULL DEFAULT 1, note TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS by_end ON sessions (subject IS NULL, ends);";

/** Executes a statement to its end, and returns its first row. */
function row(string $statement, mixed ...$values): ?array
{
    static $db = null;
    if (!$db) {
        umask(0077); // the file is for no other user of this machine
        $db = new PDO('sqlite:' . DATABASE, options: [PDO::ATTR_TIMEOUT => 5, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
        for ($tries = 100; ; $tries--) {
            try {
                $db->exec(SCHEMA);
                break;
            } catch (PDOException $error) { // another process makes the file: SQLite does not wait for that
                $tries ? usleep(20_000) : throw $error;
            }
        }
    }
    $prepared = $db->prepare($statement);
    foreach ($values as $index => $value) {
        $prepared->bindValue($index + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
    }
    $prepared->execute();
    return $prepared->fetchAll()[0] ?? null;
}

// [take] Gives each login to one request, of all that ask at once, in every process.
function take_login(string $flow, string $state): ?array
{
    $login = row('DELETE FROM logins WHERE session = ? AND flow = ? AND state = ?
        RETURNING secret, provider, looks, ends', session()['number'], $flow, digest($state));
    return $login && now() < $login['ends'] ? $login : null;
}

/** Stores it, unless the session has ended or has a newer one. `$secret` is the key or the verifier. */
function keep_login(array $login): void
{
    [$flow, $state, $secret, $provider, $looks, $ends] = $login;
    row('INSERT OR IGNORE INTO logins SELECT number, ?, ?, ?, ?, ?, ? FROM sessions WHERE number = ?',
        $flow, digest($state), $secret, $provider, $looks, $ends, session()['number']);
}

// [session] The session of the request: on the server, by the random id in the cookie. From the header,
// byte for byte: $_COOKIE decodes names, and takes `%5F%5FHost-…`, which a sister host may set, for ours.
// Of two with one name, one was planted, and neither is taken.
function session(?int $renewed = null): array
{
    static $session = null;
    if (!$session) {
        $pairs = array_map(fn ($it) => explode('=', trim($it, ' '), 2) + ['', ''], explode(';', $_SERVER['HTTP_COOKIE'] ?? ''));
        $ids = array_column(array_filter($pairs, fn ($it) => $it[0] === COOKIE), 1);
        $found = count($ids) === 1 ? row('SELECT * FROM sessions WHERE id = ? AND ends > ?', digest($ids[0]), now()) : null;
        $session = $found ?? ['number' => 0, 'id' => '', 'subject' => null, 'until' => 0];
    }
    $session['number'] = $renewed ?? $session['number'];
    return $session;
}

// [renew_session] It gives the browser a new id, at the start of a login and at its end. The old one, which an
// attacker may have planted, is dead at once: while the user is away, and afterwards.
function renew_session(array $login): void
{
    ['id' => $old, 'until' => $until, 'subject' => $subject] = session();
    [$id, $ends] = [secret(), max($until, now() + LOGIN_SECONDS)];
    $subject = now() < $until ? $subject : null;
    $kept = row('UPDATE sessions SET id = ?, subject = ?, ends = ? WHERE id = ? RETURNING number', digest($id), $subject, $ends, $old);
    if (!$kept) {
        $ends = now() + LOGIN_SECONDS;
        $kept = row('INSERT INTO sessions (id, ends) VALUES (?, ?) RETURNING number', digest($id), $ends);
    }
    session($kept['number']);
    row('DELETE FROM logins WHERE session = ? AND flow = ?', $kept['number'], $login[0]);
    keep_login($login);
    foreach ([1, 0] as $is_visitor) {
        row('DELETE FROM sessions WHERE (subject IS NULL) = ?1 AND ends <= coalesce((SELECT ends FROM sessions
            WHERE (subject IS NULL) = ?1 ORDER BY ends DESC LIMIT 1 OFFSET ?2), ?3)', $is_visitor, MAX_SESSIONS, now());
    }
    set_cookie($id, $ends);
}

// [cookie]
define('COOKIE', IS_SECURE ? '__Host-php_session' : 'php_session'); // this app's: cookies know no ports

function set_cookie(string $id, float $ends): void
{
    $age = (int) ($ends - now());
    // Lax: a Strict cookie does not come back from a provider.
    header('Set-Cookie: ' . COOKIE . "=$id; Path=/; Max-Age=$age; HttpOnly; SameSite=Lax" . (IS_SECURE ? '; Secure' : ''), false);
}

function secret(): string
{
    return base64url(random_bytes(32));
}

function digest(string $text): string
{
    return base64url(hash('sha256', $text, true));
}

function base64url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

/** The time of this request; that of KIT_CLOCK_URL, the clock of tests, if there is one. */
function now(): float
{
    static $now = null;
    return $now ??= (float) (getenv('KIT_CLOCK_URL') ? send('GET', getenv('KIT_CLOCK_URL'))[1]['now'] : microtime(true));
}
// [/]
