# Sessions and logins under way, in tables that several processes may share.

require "digest"
require "securerandom"
require "sqlite3"

module Sessions
  # [store] What is used once is taken by one statement. The start of a login takes no credentials, and must
  # sign no user out: the sessions of users are counted apart. It needs a rate limit by address, too, at
  # your proxy: else 10,000 starts in seconds end every login under way.
  SCHEMA = "
  PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS sessions (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    subject TEXT, until REAL NOT NULL DEFAULT 0, ends REAL NOT NULL);
  CREATE TABLE IF NOT EXISTS logins (session INTEGER REFERENCES sessions ON DELETE CASCADE, flow TEXT, state TEXT,
    secret TEXT, provider TEXT, looks INTEGER, ends REAL, PRIMARY KEY (session, flow));
  CREATE TABLE IF NOT EXISTS accounts (number INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, profile TEXT NOT NULL,
    sign_ins INTEGER NOT NULL DEFAULT 1, note TEXT NOT NULL DEFAULT '');
  CREATE INDEX IF NOT EXISTS by_end ON sessions (subject IS NULL, ends);"
  File.umask(0o077) # the file is for no other user of this machine
  DB, LOCK = SQLite3::Database.new(DATABASE), Mutex.new
  begin
    DB.execute_batch(SCHEMA)
  rescue SQLite3::BusyException # another process makes the file: SQLite does not wait for that
    sleep 0.02
    retry
  end

  # Executes a statement to its end, and returns its first row.
  def row(statement, *values) = LOCK.synchronize { DB.execute(statement, values).first }

  # [take] Gives each login to one request, of all that ask at once, in every process.
  def take_login(flow, state)
    login = row("DELETE FROM logins WHERE session = ? AND flow = ? AND state = ?
                 RETURNING secret, provider, looks, ends", @number, flow, digest(state))
    login if login && @now < login.last
  end

  # Stores it, unless the session has ended or has a newer one. `secret` is its key or its verifier.
  def keep_login(flow, state, secret, provider, looks, ends)
    row("INSERT OR IGNORE INTO logins SELECT number, ?, ?, ?, ?, ?, ? FROM sessions WHERE number = ?",
        flow, digest(state), secret, provider, looks, ends, @number)
  end

  # [session] It is on the server, by the random id in the cookie. The header is read byte for byte: a parser
  # that decodes names takes `%5F%5FHost-…`, which a sister host may set, for ours. Of two with one name, one
  # was planted, and neither is taken.
  def open_session
    pairs = @request["Cookie"].to_s.b.split(";").map { |pair| pair.sub(/\A +/, "").split("=", 2) }
    ids = pairs.filter_map { |name, value| digest(value.to_s) if name == COOKIE }
    found = row("SELECT id, number, subject, until FROM sessions WHERE id = ? AND ends > ?", ids[0], @now) if ids.size == 1
    @id, @number, @subject, @until = found || ["", 0, nil, 0]
  end

  # [renew_session] It gives the browser a new id, at the start of a login and at its end. The old one, which an
  # attacker may have planted, is dead at once: while the user is away, and afterwards.
  def renew_session(flow, *login)
    id, ends = SecureRandom.urlsafe_base64(32), [@until, @now + LOGIN_SECONDS].max
    subject = @subject if @now < @until
    kept = row("UPDATE sessions SET id = ?, subject = ?, ends = ? WHERE id = ? RETURNING number", digest(id), subject, ends, @id)
    kept ||= row("INSERT INTO sessions (id, ends) VALUES (?, ?) RETURNING number", digest(id), ends = @now + LOGIN_SECONDS)
    @number = kept[0]
    row("DELETE FROM logins WHERE session = ? AND flow = ?", @number, flow)
    keep_login(flow, *login)
    [1, 0].each do |is_visitor|
      row("DELETE FROM sessions WHERE (subject IS NULL) = ?1 AND ends <= coalesce((SELECT ends FROM sessions
           WHERE (subject IS NULL) = ?1 ORDER BY ends DESC LIMIT 1 OFFSET ?2), ?3)", is_visitor, MAX_SESSIONS, @now)
    end
    set_cookie(id, ends)
  end

  # [cookie]
  COOKIE = IS_SECURE ? "__Host-ruby_session" : "ruby_session" # this app's: cookies know no ports

  def set_cookie(id, ends)
    # Lax: a Strict cookie does not come back from a provider.
    attributes = "Path=/; Max-Age=#{(ends - @now).to_i}; HttpOnly; SameSite=Lax#{'; Secure' if IS_SECURE}"
    @answer["Set-Cookie"] = "#{COOKIE}=#{id}; #{attributes}"
  end

  def digest(text) = Digest::SHA256.base64digest(text).tr("+/", "-_").delete("=")
  # [/]
end
