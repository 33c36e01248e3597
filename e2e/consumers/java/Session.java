import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** The session of a request, and the login under way in it, in tables that several processes may share. */
final class Session {
    // [store] What is used once is taken by one statement. The start of a login takes no credentials, and must
    // sign no user out: the sessions of users are counted apart. It needs a rate limit by address, too, at
    // your proxy: else 10,000 starts in seconds end every login under way.
    private static final String SCHEMA = """
        PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
        CREATE TABLE IF NOT EXISTS sessions (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
            subject TEXT, until REAL NOT NULL DEFAULT 0, ends REAL NOT NULL);
        CREATE TABLE IF NOT EXISTS logins (session INTEGER REFERENCES sessions ON DELETE CASCADE, flow TEXT, state TEXT,
            secret TEXT, provider TEXT, looks INTEGER, ends REAL, PRIMARY KEY (session, flow));
        CREATE TABLE IF NOT EXISTS accounts (number INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, profile TEXT NOT NULL,
            sign_ins INTEGER NOT NULL DEFAULT 1, note TEXT NOT NULL DEFAULT '');
        CREATE INDEX IF NOT EXISTS by_end ON sessions (subject IS NULL, ends);
        """;
    private static final Connection DB = connect();

    private static Connection connect() {
        for (int tries = 100; ; tries--) {
            try {
                var db = DriverManager.getConnection("jdbc:sqlite:" + Settings.DATABASE);
                db.createStatement().executeUpdate(SCHEMA);
                return db;
            } catch (SQLException error) { // another process makes the file: SQLite does not wait for that
                if (tries == 0) {
                    throw new IllegalStateException(error);
                }
                LockSupport.parkNanos(20_000_000);
            }
        }
    }

    /** Executes a statement to its end, and returns its first row, or null. */
    private static List<Object> row(String statement, Object... values) throws SQLException {
        synchronized (DB) {
            try (var prepared = DB.prepareStatement(statement)) {
                for (int it = 0; it < values.length; it++) {
                    prepared.setObject(it + 1, values[it]);
                }
                List<Object> first = null;
                if (prepared.execute()) {
                    var rows = prepared.getResultSet();
                    while (rows.next()) {
                        var row = new ArrayList<>();
                        for (int it = 1; it <= rows.getMetaData().getColumnCount(); it++) {
                            row.add(rows.getObject(it));
                        }
                        first = first == null ? row : first;
                    }
                }
                return first;
            }
        }
    }
    // [/]

    static final Session NONE = new Session(0, "", null, 0, 0);
    private int number;
    private final String id;
    private final Object subject;
    private final double until, now;

    private Session(int number, String id, Object subject, double until, double now) {
        this.number = number;
        this.id = id;
        this.subject = subject;
        this.until = until;
        this.now = now;
    }

    double now() {
        return now;
    }

    // [session] It is on the server, by the random id in the cookie. The headers are read byte for byte: a parser
    // that decodes names takes `%5F%5FHost-…`, which a sister host may set, for ours. Of two with one name,
    // one was planted, and neither is taken.
    static Session of(List<String> headers, double now) throws Exception {
        var ids = new ArrayList<String>();
        for (String pair : String.join(";", headers).split(";")) {
            String[] parts = pair.replaceFirst("^ +", "").split("=", 2);
            if (parts[0].equals(COOKIE)) {
                ids.add(digest(parts.length < 2 ? "" : parts[1]));
            }
        }
        var found = ids.size() != 1 ? null
            : row("SELECT number, id, subject, until FROM sessions WHERE id = ? AND ends > ?", ids.get(0), now);
        return found == null ? new Session(0, "", null, 0, now)
            : new Session((int) found.get(0), (String) found.get(1), found.get(2), (double) found.get(3), now);
    }

    // [take] A login under way: `secret` is its key or its verifier.
    record Login(String flow, String state, String secret, String provider, int looks, double ends) {}

    /** Gives each login to one request, of all that ask at once, in every process. */
    Login take(String flow, String state) throws Exception {
        var found = row("DELETE FROM logins WHERE session = ? AND flow = ? AND state = ?"
            + " RETURNING secret, provider, looks, ends", number, flow, digest(state));
        return found == null || now >= (double) found.get(3) ? null
            : new Login(flow, state, (String) found.get(0), (String) found.get(1), (int) found.get(2), (double) found.get(3));
    }

    /** Stores it, unless the session has ended or has a newer one. */
    void keep(Login it) throws Exception {
        row("INSERT OR IGNORE INTO logins SELECT number, ?, ?, ?, ?, ?, ? FROM sessions WHERE number = ?",
            it.flow, digest(it.state), it.secret, it.provider, it.looks, it.ends, number);
    }

    // [renew_session] It gives the browser a new id, at the start of a login and at its end. The old one, which an
    // attacker may have planted, is dead at once: while the user is away, and afterwards.
    Cookie renew(Login login) throws Exception {
        var cookie = new Cookie(secret(), Math.max(until, now + Settings.LOGIN_SECONDS));
        var kept = row("UPDATE sessions SET id = ?, subject = ?, ends = ? WHERE id = ? RETURNING number",
            digest(cookie.id), now < until ? subject : null, cookie.ends, id);
        if (kept == null) {
            cookie = new Cookie(cookie.id, now + Settings.LOGIN_SECONDS);
            kept = row("INSERT INTO sessions (id, ends) VALUES (?, ?) RETURNING number", digest(cookie.id), cookie.ends);
        }
        number = (int) kept.get(0);
        row("DELETE FROM logins WHERE session = ? AND flow = ?", number, login.flow);
        keep(login);
        for (int isVisitor : new int[] {1, 0}) {
            row("DELETE FROM sessions WHERE (subject IS NULL) = ?1 AND ends <= coalesce((SELECT ends FROM sessions"
                + " WHERE (subject IS NULL) = ?1 ORDER BY ends DESC LIMIT 1 OFFSET ?2), ?3)", isVisitor, Settings.MAX_SESSIONS, now);
        }
        return cookie;
    }

    // [cookie] Lax: a Strict cookie does not come back from a provider. Cookies know no ports: the name is this app's.
    static final String COOKIE = Settings.IS_SECURE ? "__Host-java_session" : "java_session";

    record Cookie(String id, double ends) {
        String header(double now) {
            return COOKIE + "=" + id + "; Path=/; Max-Age=" + (long) (ends - now) + "; HttpOnly; SameSite=Lax"
                + (Settings.IS_SECURE ? "; Secure" : "");
        }
    }

    // [sign_in] The key is the subject and nothing else: e-mail addresses change hands.
    Cookie signIn(String subject, String profile) throws Exception {
        var cookie = new Cookie(secret(), now + Settings.SESSION_SECONDS);
        // A new id again: an attacker may know the old one. If it is gone, the user has signed out meanwhile.
        var found = row("UPDATE sessions SET id = ?, subject = ?, until = ?, ends = ? WHERE id = ? RETURNING number",
            digest(cookie.id), subject, cookie.ends, cookie.ends, id);
        if (found == null) {
            return null;
        }
        row("INSERT INTO accounts (subject, profile) VALUES (?, ?) ON CONFLICT (subject)"
            + " DO UPDATE SET profile = excluded.profile, sign_ins = sign_ins + 1", subject, profile);
        return cookie;
    }

    record User(int number, int signIns, Map<?, ?> profile, String note) {}

    User user() throws Exception {
        var found = row("SELECT accounts.number, sign_ins, profile, note FROM sessions JOIN accounts USING (subject)"
            + " WHERE id = ? AND until > ?", id, now);
        return found == null ? null : new User((int) found.get(0), (int) found.get(1),
            (Map<?, ?>) Json.parse((String) found.get(2)), (String) found.get(3));
    }

    void saveNote(String note) throws Exception {
        row("UPDATE accounts SET note = substr(?, 1, 1000) WHERE subject = ? AND ? > ?", note, subject, until, now);
    }

    void end() throws Exception {
        row("DELETE FROM sessions WHERE id = ?", id);
    }

    // [secret]
    static String secret() {
        byte[] bytes = new byte[32];
        new SecureRandom().nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    static String digest(String text) throws Exception {
        byte[] sum = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        return Base64.getUrlEncoder().withoutPadding().encodeToString(sum);
    }
    // [/]
}
