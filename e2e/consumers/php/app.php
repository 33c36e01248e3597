<?php // A reference consumer of the Federated Sign-In Service, on PHP alone: both flows, both providers.
// Sessions and accounts are tables of SQLite, which several processes may share.
declare(strict_types=1);

// [settings] From the environment. Secrets travel over https, or within this machine.
function setting(string $name, string $kind, string $initial = '', string $pattern = '.+'): string
{
    $value = getenv($name) ?: $initial;
    if (!preg_match("~^($pattern)$~D", $value)) {
        fwrite(fopen('php://stderr', 'w'), "$name is " . ($value ? 'not' : 'missing: set it to') . " $kind.\n");
        exit(2);
    }
    return $value;
}

const ORIGIN = 'https://[\w.-]+(:\d+)?|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?';
const AN_ORIGIN = 'an address such as https://signin.example (http only within this machine), without a path';
define('BROKER', setting('SIGNIN_BASE_URL', AN_ORIGIN, '', ORIGIN));
define('HERE', setting('CONSUMER_BASE_URL', AN_ORIGIN, 'http://localhost:5000', ORIGIN));
define('PROJECT', ['client_id' => setting('SIGNIN_CLIENT_ID', "the project's client_id"),
    'client_secret' => setting('SIGNIN_CLIENT_SECRET', "the project's client_secret")]);
define('PORT', setting('PORT', 'a number', '5000', '\d{1,5}'));
define('MAX_SESSIONS', (int) setting('MAX_SESSIONS', 'a number', '10000', '[1-9]\d{0,6}'));
define('CALL_SECONDS', (int) setting('CALL_SECONDS', 'a number', '5', '[1-9]\d?')); // all calls of a request together
define('DATABASE', setting('SESSIONS_DB', 'a file', sys_get_temp_dir() . '/php-consumer-' . PORT . '.db'));
define('IS_SECURE', str_starts_with(HERE, 'https:'));
const LOGIN_SECONDS = 600, SESSION_SECONDS = 8 * 3600, LOOKS = 5;

// [/]
require __DIR__ . '/broker.php';
require __DIR__ . '/sessions.php';
require __DIR__ . '/page.php';

// [start] The clean flow: the callback carries nothing; the result is read with a key that stays here.
function start_clean(string $provider): never
{
    $key = secret(); // fresh for each login
    $fields = ['session_key' => $key, 'provider' => $provider, 'redirect_uri' => HERE . '/callback'];
    $address = check_start(call('POST', '/v1/login/session', PROJECT + $fields));
    renew_session(['clean', '', $key, $provider, LOOKS, now() + LOGIN_SECONDS]);
    redirect($address);
}

// [callback]
function finish_clean(): never
{
    $login = take_login('clean', '');
    if (!$login && account()) {
        redirect('/');
    }
    check($login !== null, 'nothing');
    $fields = ['session_key' => $login['secret'], 'redirect_uri' => HERE . '/callback'];
    $result = call('POST', '/v1/login/result', PROJECT + $fields);
    $failure = $result['error'] ?? null;
    switch ([$result['status'] ?? null, in_array($failure, FAILURES, true)]) { // true: by type, too
        case ['succeeded', false]:
            sign_in($result['profile'] ?? null, $login['provider']);
        case ['failed', true]:
            throw new Problem($failure);
        case ['pending', false]: // not consumed: the user may look again, a few times
            check($login['looks'] > 1, 'refused');
            keep_login(['clean', '', $login['secret'], $login['provider'], $login['looks'] - 1, $login['ends']]);
            throw new Problem('pending');
    }
    throw new Problem('lost');
}

// [start_legacy] The legacy flow: state and code come back through the browser, the verifier stays here.
function start_legacy(string $provider): never
{
    [$state, $verifier] = [secret(), secret()];
    renew_session(['legacy', $state, $verifier, $provider, 1, now() + LOGIN_SECONDS]);
    $query = ['client_id' => PROJECT['client_id'], 'redirect_uri' => HERE . '/legacy/callback', 'provider' => $provider,
        'state' => $state, 'code_challenge' => digest($verifier), 'code_challenge_method' => 'S256'];
    redirect(BROKER . '/authorize?' . http_build_query($query));
}

// [callback_legacy] It ends in a redirect, always: no page has the code in its address.
function finish_legacy(): never
{
    $sent = ['state' => [], 'code' => [], 'error' => []];
    // Not from $_GET, which has the last of several, and lists.
    foreach (explode('&', $_SERVER['QUERY_STRING'] ?? '') as $pair) {
        [$name, $value] = explode('=', $pair, 2) + ['', ''];
        $sent[urldecode($name)][] = urldecode($value);
    }
    ['state' => $state, 'code' => $code, 'error' => $error] = $sent;
    check(count($state) === 1, 'refused');
    // Consumed before anything else is looked at: by success and by failure, once.
    $login = take_login('legacy', $state[0]);
    check($login !== null, 'refused');
    if (!$code && count($error) === 1 && in_array($error[0], FAILURES, true)) {
        throw new Problem($error[0]);
    }
    check(!$error && count($code) === 1 && preg_match('/^.{1,200}$/D', $code[0]) === 1, 'refused');
    $fields = ['grant_type' => 'authorization_code', 'code' => $code[0], 'code_verifier' => $login['secret']];
    $token = check_token(call('POST', '/v1/token', PROJECT + $fields + ['redirect_uri' => HERE . '/legacy/callback']));
    try {
        $profile = call('GET', '/v1/profile', token: $token);
    } finally { // it has had its one use; should this fail, it ends by itself
        revoke($token);
    }
    sign_in($profile, $login['provider']);
}

// [sign_in]
function sign_in(mixed $profile, string $provider): never
{
    check_profile($profile, $provider);
    [$id, $until] = [secret(), now() + SESSION_SECONDS];
    // A new id again: an attacker may know the old one. If it is gone, the user has signed out meanwhile.
    $found = row('UPDATE sessions SET id = ?, subject = ?, until = ?, ends = ? WHERE id = ? RETURNING number',
        digest($id), $profile['subject'], $until, $until, session()['id']);
    check($found !== null, 'nothing');
    // The key is the subject and nothing else: e-mail addresses change hands.
    row('INSERT INTO accounts (subject, profile) VALUES (?, ?) ON CONFLICT (subject)
        DO UPDATE SET profile = excluded.profile, sign_ins = sign_ins + 1', $profile['subject'], json_encode($profile));
    set_cookie($id, $until);
    redirect('/');
}

// [sign_out]
function sign_out(): never
{
    row('DELETE FROM sessions WHERE id = ?', session()['id']); // on the server: a copy of the cookie is worth nothing
    set_cookie('', now() - 1);
    redirect('/');
}

// [account]
function account(): ?array
{
    return row('SELECT accounts.number, profile, sign_ins, note FROM sessions JOIN accounts USING (subject)
        WHERE id = ? AND until > ?', session()['id'], now());
}

function save_note(): never
{
    $note = is_string($_POST['note'] ?? null) ? $_POST['note'] : ''; // `note[]=` makes a list of it
    row('UPDATE accounts SET note = substr(?, 1, 1000) WHERE number = ?', $note, account()['number'] ?? 0);
    redirect('/');
}

function redirect(string $address): never
{
    header("Location: $address", true, 303);
    exit;
}

// [guard] Any page can send a form here, but a browser says from where. HEAD and a prefetch read nothing.
function check_request(string $method, string $path): void
{
    [$origin, $site] = [$_SERVER['HTTP_ORIGIN'] ?? HERE, $_SERVER['HTTP_SEC_FETCH_SITE'] ?? 'none'];
    if ($method === 'POST' && ($origin !== HERE || !in_array($site, ['same-origin', 'none'], true))) {
        show(403, '403 Forbidden');
    }
    $is_prefetch = str_contains(strtolower($_SERVER['HTTP_SEC_PURPOSE'] ?? ''), 'prefetch');
    if (str_ends_with($path, '/callback') && ($is_prefetch || $method === 'HEAD')) {
        http_response_code($is_prefetch ? 503 : 200);
        exit;
    }
}

// [headers] No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
// `no-referrer`: the broker checks that a login begins on a page of ours.
function add_headers(): void
{
    header("Content-Security-Policy: default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
    header('Referrer-Policy: strict-origin-when-cross-origin');
    header('X-Content-Type-Options: nosniff');
    header('Cache-Control: no-store');
}

// [error_page]
function serve(string $method, string $path): never
{
    try {
        add_headers();
        check_request($method, $path);
        route($method, $path);
    } catch (Problem $problem) {
        redirect('/problem/' . $problem->getMessage());
    } catch (Throwable $error) {
        error_log('A request ended by a ' . $error::class); // its own text may quote a secret
        show(500, '500 Internal Server Error', []);
    }
}

// [server]
function route(string $method, string $path): never
{
    match ("$method $path") {
        'POST /login/google', 'POST /login/github' => start_clean(basename($path)),
        'GET /callback' => finish_clean(),
        'POST /legacy/login/google', 'POST /legacy/login/github' => start_legacy(basename($path)),
        'GET /legacy/callback' => finish_legacy(),
        'POST /logout' => sign_out(),
        'POST /note' => save_note(),
        'GET /', 'HEAD /' => show(200),
        default => show(...(PROBLEMS[$path] ?? [404, '404 Not Found'])),
    };
}

if (PHP_SAPI !== 'cli') {
    serve($_SERVER['REQUEST_METHOD'], strtok($_SERVER['REQUEST_URI'], '?'));
}
// `php app.php`: PHP's own server, at both addresses that `localhost` may mean. In production it is
// PHP-FPM with this file as its front controller, and the same settings in php.ini.
putenv('PHP_CLI_SERVER_WORKERS=32');
$options = ['display_errors=0', 'log_errors=1', 'expose_php=0', 'post_max_size=16K', 'zend.exception_ignore_args=1'];
// -q: it writes no address to its log, where `code` and `state` would stand.
$command = [PHP_BINARY, '-q', ...array_merge(...array_map(fn ($it) => ['-d', $it], $options))];
$servers = array_map(fn ($host) => proc_open([...$command, '-S', "$host:" . PORT, __FILE__], [], $pipes),
    ['127.0.0.1', '[::1]']);
array_map(proc_close(...), $servers);
// [/]
