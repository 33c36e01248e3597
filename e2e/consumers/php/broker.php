<?php // The calls to the broker: each is sent once, within its time, and its answer is checked.
declare(strict_types=1);

const MAX_ANSWER_BYTES = 64 * 1024;

/** Ends a request with the page of this name. */
class Problem extends Exception {}

function check(bool $is_so, string $problem = 'lost'): void
{
    if (!$is_so) {
        throw new Problem($problem);
    }
}

// [call] The JSON of a successful answer. The problem is "refused", or "lost" when it is unknown what the
// broker did: then nothing is sent again, and the user starts again.
function call(string $method, string $path, ?array $body = null, ?string $token = null): array
{
    try {
        [$status, $answer] = send($method, BROKER . $path, $body, $token);
    } catch (Exception $error) { // its own text may quote a secret
        error_log("No answer of $path: " . $error::class);
        throw new Problem('lost');
    }
    check(!($status >= 400 && $status < 500 && is_string($answer['error'] ?? null)), 'refused');
    check($status === 200); // a proxy in between answers by itself, too
    return $answer;
}

// [revoke] Should this fail, the token ends by itself.
function revoke(string $token): void
{
    try {
        call('POST', '/v1/revoke', token: $token);
    } catch (Problem) {
    }
}

// [check_start] The address is of the broker's origin, without query, fragment or credentials: users are
// sent nowhere else.
function check_start(array $answer): string
{
    ['authorization_url' => $address, 'expires_in' => $life] = $answer + ['authorization_url' => null, 'expires_in' => null];
    check(is_string($address) && preg_match('~^' . preg_quote(BROKER) . '/[\w./\~%-]{1,1900}$~D', $address) === 1);
    check($life === 600);
    return $address;
}

// [check_token]
function check_token(array $answer): string
{
    $token = $answer['access_token'] ?? null;
    check(is_string($token) && preg_match('/^[\w-]+_[\w-]{43}$/D', $token) === 1);
    $others = [$answer['token_type'] ?? null, $answer['expires_in'] ?? null, $answer['scope'] ?? null];
    check($others === ['Bearer', 900, 'profile']);
    return $token;
}

// [check_profile] Names and addresses may be null, but are there; the rest is never null. By type: with
// `==`, or `(bool)`, the text "false" is true.
function check_profile(mixed $profile, string $provider): void
{
    check(is_array($profile) && ($profile['provider'] ?? null) === $provider);
    foreach (['subject', 'providerSubject'] as $name) {
        check(is_string($profile[$name] ?? null) && $profile[$name] !== '');
    }
    foreach (['name', 'username', 'email', 'avatarUrl'] as $name) {
        check(array_key_exists($name, $profile) && ($profile[$name] === null || is_string($profile[$name])));
    }
    check(is_bool($profile['emailVerified'] ?? null));
}

// [send] One time limit for everything, up to the last byte of a server that drips. No redirect is
// followed (curl's default): it would carry the secrets on. A connection that is used again may be found
// closed, and then curl sends a second time: each has its own.
function send(string $method, string $address, ?array $body = null, ?string $token = null): array
{
    $content = '';
    $curl = curl_init($address);
    $headers = ['Accept: application/json', ...($token ? ["Authorization: Bearer $token"] : [])];
    if ($body !== null) {
        curl_setopt($curl, CURLOPT_POSTFIELDS, json_encode($body, JSON_THROW_ON_ERROR));
        $headers[] = 'Content-Type: application/json';
    }
    curl_setopt_array($curl, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => $headers,
        CURLOPT_TIMEOUT_MS => max(1, (int) (1000 * (deadline() - microtime(true)))),
        CURLOPT_PROXY => '',
        CURLOPT_FRESH_CONNECT => true,
        CURLOPT_FORBID_REUSE => true,
        CURLOPT_WRITEFUNCTION => function ($curl, $piece) use (&$content) {
            $content .= $piece;
            return strlen($content) <= MAX_ANSWER_BYTES ? strlen($piece) : -1;
        },
    ] + (getenv('SSL_CERT_FILE') ? [CURLOPT_CAINFO => getenv('SSL_CERT_FILE')] : []));
    check(curl_exec($curl) === true);
    $type = explode(';', (string) curl_getinfo($curl, CURLINFO_CONTENT_TYPE))[0];
    check(strtolower(trim($type)) === 'application/json');
    $answer = json_decode($content, true, 16, JSON_THROW_ON_ERROR);
    check(is_array($answer) && !array_is_list($answer));
    return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), $answer];
}

/** The time at which all calls of this request end. */
function deadline(): float
{
    static $deadline = null;
    return $deadline ??= microtime(true) + CALL_SECONDS;
}
// [/]
