// Sessions, logins under way and accounts, in SQLite. The file of SESSIONS_DB outlives the process,
// and several processes may share it; without one they are in memory.
import { DatabaseSync } from 'node:sqlite'

process.umask(0o077) // the file holds keys: its owner alone may read it
const db = new DatabaseSync(process.env.SESSIONS_DB || ':memory:')
const statements = {}
const prepare = (sql) => (statements[sql] ??= db.prepare(sql))

/** Runs one statement, which is one step by itself. */
export const run = (sql, ...values) => prepare(sql).run(...values)

/** The row that a statement returns, or undefined. */
export const row = (sql, ...values) => prepare(sql).get(...values)

/** Runs several statements as one step: no other request, of this process or another, comes in between. */
export function step(statements) {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = statements()
    db.exec('COMMIT')
    return result
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = NORMAL')
const writeAhead = () => db.exec('PRAGMA journal_mode = WAL') // no reader waits for a writer
try {
  writeAhead()
} catch {
  db.exec('BEGIN IMMEDIATE; COMMIT') // it does not wait for a process that does so at the same moment; this does
  writeAhead()
}

// The counts, one for each kind of session, spare a start the walk over all of them.
step(() => db.exec(`
  CREATE TABLE IF NOT EXISTS sessions (
    session INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, subject TEXT, until REAL NOT NULL, ends REAL NOT NULL);
  CREATE INDEX IF NOT EXISTS sessions_by_end ON sessions (subject IS NULL, ends);
  CREATE TABLE IF NOT EXISTS counts (anonymous INTEGER PRIMARY KEY, sessions INTEGER NOT NULL);
  INSERT OR IGNORE INTO counts VALUES (0, 0), (1, 0);
  CREATE TRIGGER IF NOT EXISTS opened AFTER INSERT ON sessions BEGIN
    UPDATE counts SET sessions = sessions + 1 WHERE anonymous = (new.subject IS NULL); END;
  CREATE TRIGGER IF NOT EXISTS ended AFTER DELETE ON sessions BEGIN
    UPDATE counts SET sessions = sessions - 1 WHERE anonymous = (old.subject IS NULL); END;
  CREATE TRIGGER IF NOT EXISTS signed_in AFTER UPDATE OF subject ON sessions BEGIN
    UPDATE counts SET sessions = sessions - 1 WHERE anonymous = (old.subject IS NULL);
    UPDATE counts SET sessions = sessions + 1 WHERE anonymous = (new.subject IS NULL); END;
  CREATE TABLE IF NOT EXISTS logins (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE, flow TEXT NOT NULL, login TEXT NOT NULL, state TEXT,
    PRIMARY KEY (session, flow));
  CREATE TABLE IF NOT EXISTS accounts (
    number INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, profile TEXT NOT NULL, signIns INTEGER NOT NULL, note TEXT NOT NULL)`))
