<?php // The one page. Whatever came from elsewhere is escaped by `h`.
declare(strict_types=1);

const FAILURES = ['access_denied', 'invalid_provider_response', 'provider_unavailable'];

// [problems] By their addresses: the status and the words.
const PROBLEMS = [
    '/problem/access_denied' => [200, 'You cancelled the sign-in. Nothing was shared with us.'],
    '/problem/invalid_provider_response' => [200, "The provider's answer did not prove who you are."],
    '/problem/provider_unavailable' => [200, 'The provider did not answer. Try again in a moment.'],
    '/problem/pending' => [200, 'The sign-in is not finished. Perhaps it is open in another tab.'],
    '/problem/nothing' => [400, 'No sign-in is under way here. Finish it in the browser in which you start it.'],
    '/problem/refused' => [400, 'The sign-in took too long, was finished before, or began in another browser.'],
    '/problem/lost' => [400, 'The sign-in service did not answer as it should. You were not signed in. Please start again.'],
];

// [page]
function h(mixed $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE);
}
// [/]

function show(int $status, ?string $problem = null, ?array $account = null): never
{
    $account ??= account();
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    $profile = json_decode($account['profile'] ?? '{}', true);
    ?>
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Reference consumer</title>
<?php if ($problem) { ?>
<h1><?= h($problem) ?></h1>
<?php } if ($problem === PROBLEMS['/problem/pending'][1]) { ?>
<form action="/callback"><button>Look again</button></form>
<?php } if ($account) { ?>
<p><?= $problem ? 'You are still signed in' : 'Signed in' ?> as
  <bdi><?= h($profile['name'] ?: $profile['username'] ?: "account $account[number]") ?></bdi>.</p>
<form method="post" action="/logout"><button>Sign out</button></form>
<?php } else { ?>
<p>You are signed out.</p>
<?php } if ($account && !$problem) { ?>
<dl>
  <dt>Name<dd><bdi><?= h($profile['name'] ?? 'none') ?></bdi>
  <dt>Username<dd><bdi><?= h($profile['username'] ?? 'none') ?></bdi>
  <dt>E-mail<dd><bdi><?= h($profile['email'] ?? 'none') ?></bdi><?= isset($profile['email']) ? ($profile['emailVerified'] ? ', verified' : ', not verified') : '' ?>

  <dt>Provider<dd><?= h($profile['provider']) ?>

  <dt>Subject<dd><?= h($profile['subject']) ?>

  <dt>Account number<dd><?= h($account['number']) ?>

  <dt>Sign-ins<dd><?= h($account['sign_ins']) ?>

</dl>
<form method="post" action="/note">
  <label>Note <input name="note" maxlength="1000" value="<?= h($account['note']) ?>"></label> <button>Save</button>
</form>
<?php } ?>
<h2><?= $account ? 'Sign in as another user' : 'Sign in' ?></h2>
<?php foreach (['/login' => '', '/legacy/login' => ', legacy flow'] as $path => $label) { ?>
<form method="post" action="<?= $path ?>/google"><button>Sign in with Google<?= $label ?></button></form>
<form method="post" action="<?= $path ?>/github"><button>Sign in with GitHub<?= $label ?></button></form>
<?php }
    exit;
}
