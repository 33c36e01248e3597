"""The calls to the broker: each is sent once, within its time, and its answer is checked."""

import asyncio, json, logging, re, ssl, time
from urllib.parse import urlsplit

import httpx
from flask import g

MAX_ANSWER_BYTES = 64 * 1024
TLS = ssl.create_default_context()


class Problem(Exception):
    """Ends a request with the page of this name."""


def require(is_so, problem="lost"):
    if not is_so:
        raise Problem(problem)


# [call]
def call(method, address, body=None, token=None):
    """The JSON of a successful answer. The problem is "refused", or "lost" when it is unknown
    what the broker did: then nothing is sent again, and the user starts again."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        status, answer = asyncio.run(send(method, address, body, headers))
        json.dumps(answer, ensure_ascii=False).encode()  # text that no page can hold is refused
    except Exception as error:  # its own text may quote a secret
        logging.warning("No answer of %s: %s", urlsplit(address).path, type(error).__name__)
        raise Problem("lost") from None
    require(isinstance(answer, dict))
    require(not (400 <= status < 500 and isinstance(answer.get("error"), str)), "refused")
    require(status == 200)  # a proxy in between answers by itself, too
    return answer


# [check_start]
def check_start(answer, broker):
    """Its address is of the broker's origin, without query, fragment or credentials: users are
    sent nowhere else."""
    address = str(answer.get("authorization_url"))
    require(re.fullmatch(re.escape(broker) + r"/[\w./~%-]{1,1900}", address, re.ASCII))
    require(answer.get("expires_in") == 600)
    return address


# [check_token]
def check_token(answer):
    token = str(answer.get("access_token"))
    require(re.fullmatch(r"[A-Za-z0-9_-]+_[A-Za-z0-9_-]{43}", token))
    require([answer.get(it) for it in ("token_type", "expires_in", "scope")] == ["Bearer", 900, "profile"])
    return token


# [check_profile]
def check_profile(profile, provider):
    """Names and addresses may be null, but are there; the rest is never null."""
    require(isinstance(profile, dict) and profile.get("provider") == provider)
    require(all(isinstance(profile.get(it), str) and profile[it] for it in ("subject", "providerSubject")))
    require(all(isinstance(profile.get(it, 0), str | None) for it in ("name", "username", "email", "avatarUrl")))
    require(isinstance(profile.get("emailVerified"), bool))


# [send]
async def send(method, address, body=None, headers=()):
    # One limit for everything, from connecting to the last byte of a server that drips. No
    # redirect is followed (httpx's default): it would carry the secrets on.
    async with (
        asyncio.timeout(g.deadline - time.monotonic()),
        httpx.AsyncClient(verify=TLS, trust_env=False, timeout=None) as client,
        client.stream(method, address, json=body, headers=headers) as answer,
    ):
        content = b""
        async for piece in answer.aiter_raw():
            content += piece
            require(len(content) <= MAX_ANSWER_BYTES)
        require(answer.headers.get("Content-Type", "").partition(";")[0].lower() == "application/json")
        return answer.status_code, json.loads(content)
# [/]
