// The one page, in HTML. Whatever came from elsewhere is escaped by `html`.

const PROBLEMS = {
  access_denied: 'You cancelled the sign-in. Nothing was shared with us.',
  invalid_provider_response: "The provider's answer did not prove who you are.",
  provider_unavailable: 'The provider did not answer. Try again in a moment.',
  pending: 'The sign-in is not finished. Perhaps it is open in another tab.',
  nothing: 'No sign-in is under way here. Finish it in the browser in which you start it.',
  refused: 'The sign-in took too long, was finished before, or began in another browser.',
  lost: 'The sign-in service did not answer as it should. You were not signed in. Please start again.',
}

/** The page of an account, if there is one, and of a problem, by its name or in words. */
export function page(account, problem) {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Reference consumer</title>
${problem && html`<h1>${Object.hasOwn(PROBLEMS, problem) ? PROBLEMS[problem] : problem}</h1>`}
${problem === 'pending' && html`<form action="/callback"><button>Look again</button></form>`}
${account ? user(account, problem) : html`<p>You are signed out.</p>`}
${account && !problem && details(account)}
<h2>${account ? 'Sign in as another user' : 'Sign in'}</h2>
${button('/login/google', 'Sign in with Google')}
${button('/login/github', 'Sign in with GitHub')}
${button('/legacy/login/google', 'Sign in with Google, legacy flow')}
${button('/legacy/login/github', 'Sign in with GitHub, legacy flow')}
`.toString()
}

const user = ({ profile, number }, problem) => html`
<p>${problem ? 'You are still signed in' : 'Signed in'} as
  <bdi>${profile.name || profile.username || `account ${number}`}</bdi>.</p>
${button('/logout', 'Sign out')}`

const details = ({ profile, number, signIns, note }) => html`
<dl>
  <dt>Name<dd><bdi>${profile.name || 'none'}</bdi>
  <dt>Username<dd><bdi>${profile.username || 'none'}</bdi>
  <dt>E-mail<dd><bdi>${profile.email || 'none'}</bdi>${profile.email && (profile.emailVerified ? ', verified' : ', not verified')}
  <dt>Provider<dd>${profile.provider}
  <dt>Subject<dd>${profile.subject}
  <dt>Account number<dd>${number}
  <dt>Sign-ins<dd>${signIns}
</dl>
<form method="post" action="/note">
  <label>Note <input name="note" maxlength="1000" value="${note}"></label> <button>Save</button>
</form>`

const button = (action, label) => html`<form method="post" action="${action}"><button>${label}</button></form>`

// [page]
/** Text that is HTML already; every other value is escaped. */
class Html extends String {}

function html(pieces, ...values) {
  const escape = (value) => String(value || '').replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`)
  const filled = values.map((it) => (it instanceof Html ? it : escape(it)))
  return new Html(String.raw({ raw: pieces }, ...filled))
}
// [/]
