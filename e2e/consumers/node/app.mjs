// A reference consumer of the Federated Sign-In Service, on Express: both flows, both providers.
// Sessions and accounts are in SQLite, in the file of SESSIONS_DB: several processes may share it.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import express from 'express'
import { Problem, call, checkProfile, checkStart, checkToken, require, send } from './broker.mjs'
import { row, run, step } from './database.mjs'
import { page } from './page.mjs'

// Settings, from the environment. Secrets travel over https, or within this machine.

function setting(name, kind, initial = '', pattern = /^.+$/) {
  const value = process.env[name] || initial
  if (pattern.test(value)) return value
  console.error(`${name} is ${value ? 'not' : 'missing: set it to'} ${kind}.`)
  process.exit(2)
}

const ORIGIN = /^(https:\/\/[\w.-]+(:\d+)?|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)$/
const AN_ORIGIN = 'an address such as https://signin.example (http only within this machine), without a path'
const BROKER = setting('SIGNIN_BASE_URL', AN_ORIGIN, '', ORIGIN)
const HERE = setting('CONSUMER_BASE_URL', AN_ORIGIN, 'http://localhost:5000', ORIGIN)
const PROJECT = {
  client_id: setting('SIGNIN_CLIENT_ID', "the project's client_id"),
  client_secret: setting('SIGNIN_CLIENT_SECRET', "the project's client_secret"),
}
const PORT = Number(setting('PORT', 'a number', '5000', /^\d{1,5}$/))
const MAX_SESSIONS = Number(setting('MAX_SESSIONS', 'a number', '10000', /^[1-9]\d{0,6}$/))
const CLOCK = process.env.KIT_CLOCK_URL // the clock of tests
const CALL_SECONDS = Number(setting('CALL_SECONDS', 'a number', '5', /^[1-9]\d?$/)) // all calls of a request together
const [LOGIN_SECONDS, SESSION_SECONDS, LOOKS] = [600, 8 * 3600, 5]
const ERRORS = ['access_denied', 'invalid_provider_response', 'provider_unavailable']
const PROBLEMS = [...ERRORS, 'pending', 'nothing', 'refused', 'lost']
const IS_SECURE = HERE.startsWith('https:')
const secret = () => randomBytes(32).toString('base64url')
const digest = (text) => createHash('sha256').update(text).digest('base64url')
const app = express().disable('x-powered-by').disable('etag')
// Else /CALLBACK/ is the callback, too, and not what `endsWith` below takes for it.
app.enable('strict routing').enable('case sensitive routing')

// Sessions: on the server, by the digest of the random id in the cookie. Not express-session: it
// gives every request a copy and writes that back, so of eight callbacks at once several would
// find the key there.

// [cookie]
const COOKIE = IS_SECURE ? '__Host-express_session' : 'express_session' // this app's: cookies know no ports
const ATTRIBUTES = { path: '/', httpOnly: true, sameSite: 'lax', secure: IS_SECURE } // a Strict cookie does not come back
// [/]

app.use(async (req, res, next) => {
  // [headers]
  res.set({
    // No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
    // `no-referrer`: the broker checks that a login begins on a page of ours.
    'Content-Security-Policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'strict-origin-when-cross-origin',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  })
  // [guard]
  // Any page can send a form here, but a browser says from where.
  const { origin = HERE, 'sec-fetch-site': site = 'same-origin', 'sec-purpose': purpose = '' } = req.headers
  const isOurs = origin === HERE && ['same-origin', 'none'].includes(site)
  if (req.method === 'POST' && !isOurs) return res.status(403).send(page(null, '403 Forbidden'))
  // HEAD and a prefetch read nothing.
  if (req.path.endsWith('/callback') && req.method === 'HEAD') return res.end()
  if (req.path.endsWith('/callback') && purpose.includes('prefetch')) return res.status(503).end()
  // [session]
  // Byte for byte, whatever a parser makes of similar names. Of two with one name, one was
  // planted, and neither is taken.
  const cookies = (req.headers.cookie ?? '').split(';').map((it) => it.replace(/^ +/, ''))
  const ours = cookies.filter((it) => it.startsWith(`${COOKIE}=`))
  req.id = ours.length === 1 ? digest(ours[0].slice(COOKIE.length + 1)) : ''
  // [/]
  req.signal = AbortSignal.timeout(CALL_SECONDS * 1000)
  const clock = CLOCK && (await send('GET', CLOCK, req.signal).catch(() => null))
  req.now = clock ? clock.json.now : Date.now() / 1000
  next()
})
app.use(express.urlencoded({ extended: false, limit: '16kb' }))

// [renew_session]
/**
 * Gives the browser a new session id, at the start of a login and at its end. The old one, which an
 * attacker may have planted, is dead at once: while the user is away, and afterwards. Returns the
 * session, or undefined if a user is to sign in and the session has ended meanwhile.
 */
function renewSession(req, user) {
  const id = secret()
  const { subject = null, until = null } = user ?? {}
  const ends = until ?? req.now + LOGIN_SECONDS
  const found = row(`UPDATE sessions SET id = ?, subject = coalesce(?, subject), until = coalesce(?, until),
    ends = max(until, ?) WHERE id = ? AND ? < ends RETURNING *`, digest(id), subject, until, ends, req.id, req.now)
  const add = 'INSERT INTO sessions (id, until, ends) VALUES (?, 0, ?) RETURNING *'
  const renewed = found ?? (user ? undefined : row(add, digest(id), ends))
  if (!renewed) return
  // Room for it: those that are over, and those that end next. Those of users apart: the start of a
  // login takes no credentials, and must sign no user out. It needs a rate limit by address, too, at
  // your proxy: else 10,000 starts in seconds end every login under way.
  const others = [renewed.subject === null ? 1 : 0, renewed.session]
  run('DELETE FROM sessions WHERE (subject IS NULL) = ? AND session <> ? AND ends <= ?', ...others, req.now)
  run(`DELETE FROM sessions WHERE session IN (SELECT session FROM sessions WHERE (subject IS NULL) = ? AND session <> ?
    ORDER BY ends LIMIT (SELECT max(sessions - ?, 0) FROM counts WHERE anonymous = ?))`, ...others, MAX_SESSIONS, others[0])
  req.id = digest(id)
  req.res.cookie(COOKIE, id, { ...ATTRIBUTES, maxAge: (renewed.ends - req.now) * 1000 })
  return renewed
}
// [/]

/** Starts a login in a renewed session, in the place of an older one by the same flow. */
const keepLogin = (req, flow, login, state = null) => step(() => {
  const { session } = renewSession(req)
  const kept = JSON.stringify({ ...login, ends: req.now + LOGIN_SECONDS })
  run('INSERT OR REPLACE INTO logins VALUES (?, ?, ?, ?)', session, flow, kept, state && digest(state))
})

// [take]
/**
 * Takes out the login under way. One statement finds and removes it: of twenty callbacks at once,
 * at however many processes, one gets it.
 */
function takeLogin(req, flow, state = null) {
  const taken = row(`DELETE FROM logins WHERE flow = ? AND state IS ? AND session = (
    SELECT session FROM sessions WHERE id = ? AND ? < ends) RETURNING session, login`,
    flow, state && digest(state), req.id, req.now) // by its digest: the time of a refusal tells nothing about a guess
  return taken && { session: taken.session, ...JSON.parse(taken.login) }
}
// [/]

function account(req) {
  const found = row(`SELECT accounts.* FROM sessions JOIN accounts USING (subject)
    WHERE id = ? AND ? < until`, req.id, req.now)
  return found && { ...found, profile: JSON.parse(found.profile) }
}

// The clean flow: the callback carries nothing; the result is read with a key that stays here.

// [start]
app.post(/^\/login\/(google|github)$/, async (req, res) => {
  const [provider, key] = [req.params[0], secret()] // a fresh key for each login
  const fields = { session_key: key, provider, redirect_uri: `${HERE}/callback` }
  const started = await call(req, 'POST', `${BROKER}/v1/login/session`, { ...PROJECT, ...fields })
  const url = checkStart(started, BROKER)
  keepLogin(req, 'clean', { key, provider, looks: LOOKS })
  res.redirect(303, url)
})

// [callback]
app.get('/callback', async (req, res) => {
  const login = takeLogin(req, 'clean')
  if (!login && account(req)) return res.redirect(303, '/')
  require(login && req.now < login.ends, 'nothing')
  const fields = { session_key: login.key, redirect_uri: `${HERE}/callback` }
  const result = await call(req, 'POST', `${BROKER}/v1/login/result`, { ...PROJECT, ...fields })
  if (result.status === 'succeeded') return signIn(req, res, result.profile, login.provider)
  if (result.status === 'failed' && ERRORS.includes(result.error)) throw new Problem(result.error)
  require(result.status === 'pending')
  // Nothing was consumed: the user may look again, a few times.
  require(login.looks > 1, 'refused')
  const { session, ...kept } = { ...login, looks: login.looks - 1 }
  run(`INSERT OR IGNORE INTO logins SELECT session, 'clean', ?, NULL FROM sessions WHERE session = ?`, JSON.stringify(kept), session)
  throw new Problem('pending')
})
// [/]

// The legacy flow: state and code come back through the browser, the verifier stays here.

// [start_legacy]
app.post(/^\/legacy\/login\/(google|github)$/, async (req, res) => {
  const [provider, state, verifier] = [req.params[0], secret(), secret()]
  keepLogin(req, 'legacy', { verifier, provider }, state)
  const url = new URL('/authorize', BROKER)
  url.search = new URLSearchParams({
    client_id: PROJECT.client_id, redirect_uri: `${HERE}/legacy/callback`, provider, state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256',
  })
  res.redirect(303, url.href)
})

// [callback_legacy]
// Ends in a redirect, always: no page has the code in its address.
app.get('/legacy/callback', async (req, res) => {
  const query = new URL(req.originalUrl, HERE).searchParams
  const [state, code, error] = ['state', 'code', 'error'].map((name) => query.getAll(name))
  // Consumed before anything else is looked at: by success and by failure.
  const login = state.length === 1 ? takeLogin(req, 'legacy', state[0]) : undefined
  require(login && req.now < login.ends, 'refused')
  if (!code.length && error.length === 1 && ERRORS.includes(error[0])) throw new Problem(error[0])
  require(!error.length && code.length === 1 && /^.{1,200}$/.test(code[0]), 'refused')
  const fields = { grant_type: 'authorization_code', code: code[0], redirect_uri: `${HERE}/legacy/callback` }
  const body = { ...PROJECT, ...fields, code_verifier: login.verifier }
  const token = checkToken(await call(req, 'POST', `${BROKER}/v1/token`, body))
  const profile = await call(req, 'GET', `${BROKER}/v1/profile`, undefined, token).finally(() =>
    // It has had its one use; should this fail, it ends by itself.
    call(req, 'POST', `${BROKER}/v1/revoke`, undefined, token).catch(() => {}))
  signIn(req, res, profile, login.provider)
})
// [/]

// [sign_in]
function signIn(req, res, profile, provider) {
  checkProfile(profile, provider)
  step(() => {
    const user = { subject: profile.subject, until: req.now + SESSION_SECONDS }
    require(renewSession(req, user), 'nothing') // else signed out in another tab meanwhile
    // The key is the subject and nothing else: e-mail addresses change hands.
    run(`INSERT INTO accounts (subject, profile, signIns, note) VALUES (?, ?, 1, '')
      ON CONFLICT (subject) DO UPDATE SET profile = excluded.profile, signIns = signIns + 1`,
      profile.subject, JSON.stringify(profile))
  })
  res.redirect(303, '/')
}
// [/]

// Pages

app.get('/', (req, res) => res.send(page(account(req))))
app.get('/problem/:name', (req, res, next) => {
  const { name } = req.params
  if (!PROBLEMS.includes(name)) return next()
  res.status([...ERRORS, 'pending'].includes(name) ? 200 : 400).send(page(account(req), name))
})
app.post('/note', (req, res) => {
  const note = String(req.body?.note ?? '').slice(0, 1000)
  run('UPDATE accounts SET note = ? WHERE subject = ?', note, account(req)?.profile.subject ?? '')
  res.redirect(303, '/')
})
// [sign_out]
app.post('/logout', (req, res) => {
  run('DELETE FROM sessions WHERE id = ?', req.id) // on the server: a copy of the cookie is worth nothing
  res.clearCookie(COOKIE, ATTRIBUTES).redirect(303, '/')
})
// [/]
app.use((req, res) => res.status(404).send(page(account(req), '404 Not Found')))
// [error_page]
app.use((error, req, res, next) => {
  if (error instanceof Problem) return res.redirect(303, `/problem/${error.message}`)
  if (!error.status) console.error(`A request ended by a ${error.name}`)
  const problem = error.status ? 'This request is not valid.' : 'Something went wrong.'
  res.status(error.status ?? 500).send(page(null, problem))
})
// [/]

createServer(app).listen(PORT, '127.0.0.1')
createServer(app).listen(PORT, '::1').on('error', () => {}) // `localhost` may mean either
