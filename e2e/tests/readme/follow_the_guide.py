"""Adds sign-in to an app with nothing but the control address of a stack: follows /llms.txt and the
manifest literally. Takes each step of both flows, gets each of its answers by the means that the
manifest names, in the stack and in a sandbox; then copies the reference consumer in Python and has it
graded. Exits with 0 if that gets an A or better."""

import base64, hashlib, http.client, http.cookiejar, json, pathlib, re, secrets, shlex, subprocess, sys
import tempfile, urllib.error, urllib.request
from urllib.parse import urlencode, urljoin


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def send(method, url, body=None, headers=None, jar=None):
    """Status, text and Location; the status is None if the answer is lost."""
    data = None if body is None else json.dumps(body).encode()
    headers = headers or {"Content-Type": "application/json"}
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar() if jar is None else jar)
    try:
        request = urllib.request.Request(url, data, headers, method=method)
        answer = urllib.request.build_opener(NoRedirect, cookies).open(request)
    except urllib.error.HTTPError as refused:
        answer = refused
    except (OSError, http.client.HTTPException):
        return None, None, None
    return answer.status, answer.read().decode(), answer.headers["Location"]


def get(url):
    status, text, _ = send("GET", url)
    assert status == 200, (url, status)
    return text


def call(control, line, body):
    """A call as the manifest writes it: POST /api/faults."""
    method, path = line.split()
    status = send(method, control + path, body)[0]
    assert status and status < 300, (line, status)


class Login:
    def __init__(self, manifest):
        self.control, self.broker = (manifest["addresses"][it] for it in ("control", "broker"))
        self.jar = http.cookiejar.CookieJar()
        self.values = {it: secrets.token_urlsafe(32) for it in ("session_key", "state", "code_verifier")}
        digest = hashlib.sha256(self.values["code_verifier"].encode()).digest()
        self.values["code_challenge"] = base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def until(self, steps, answer):
        """Takes the steps, the last one so that it gets this answer."""
        provoke = answer.get("provoke", {})
        for step in steps:
            is_last = step is steps[-1]
            if provoke.get("before", is_last and step["id"]) == step["id"]:
                self.order(provoke)
            if provoke.get("without") != step["id"] and (not is_last or "again" in provoke):
                self.take(step, step["answers"][0])
        self.take(steps[-1], answer)

    def order(self, provoke):
        if "call" in provoke:
            call(self.control, provoke["call"], provoke["body"])

    def take(self, step, answer):
        request, answer = self.fill(step["request"]), self.fill(answer)
        provoke = answer.get("provoke", {})
        for fields in (request.get(it) for it in ("query", "body") if it in request):
            fields |= provoke.get("change", {})
        if step["who"] == "browser":
            status, end = self.browse(request, provoke)
        else:
            status, end, _ = send(request["method"], request["url"], request.get("body"), request["headers"])
        assert status == answer.get("status"), (step["id"], answer, status, end)
        if "arrives" in answer:
            self.learn(parts(answer["arrives"]), parts(end))
        if "body" in answer:
            self.learn(answer["body"], json.loads(end))

    def browse(self, request, provoke):
        """The status of the last answer, and the address at which the browser arrives."""
        status, url = None, request["url"] + ("?" + urlencode(request["query"]) if "query" in request else "")
        while url and not url.startswith(APP):
            if provoke.get("before") == "return" and url.startswith(self.broker + "/callback/"):
                self.order(provoke)
            status, _, location = send(request["method"], url, headers={"Accept": "text/html"}, jar=self.jar)
            url = location and urljoin(url, location)
        return status, url

    def fill(self, template):
        text = json.dumps(template)
        for name, value in self.values.items():
            text = text.replace("{%s}" % name, str(value))
        return json.loads(text)

    def learn(self, template, got):
        """Compares a part of an answer with its template, and keeps what is new in it."""
        if isinstance(template, dict):
            assert template.keys() == got.keys(), (template, got)
            for name in template:
                self.learn(template[name], got[name])
        elif match := re.fullmatch(r"\{(\w+)\}", str(template)):
            self.values[match[1]] = got
        else:
            assert template == got, (template, got)


def parts(url):
    address, _, query = url.partition("?")
    return {"": address} | dict(it.split("=") for it in query.split("&") if it)


def registered(control):
    """The manifest of a project of its own, which is registered as the guide says."""
    address = re.search(r"http\S+/api/manifest", get(control + "/llms.txt"))[0]
    manifest = json.loads(get(address))
    method, url, body = re.match(r"(\w+) (\S+) with (\{.*?\}) ", manifest["register"]).groups()
    assert send(method, url, json.loads(body))[0] == 201
    return json.loads(get(address))


stack = registered(sys.argv[1])
APP = stack["app"]["url"]
sandbox = json.loads(send("POST", sys.argv[1] + "/api/sandboxes", {})[1])
answers = 0
for manifest in (stack, registered(sandbox["control"])):
    for provider in ("google", "github"):
        [recipe] = (it for it in manifest["drive"] if it.get("body") == {"mode": "automatic"})
        call(manifest["addresses"]["control"], recipe["call"].replace("google", provider), recipe["body"])
    for flow in manifest["flows"]:
        for last, step in enumerate(flow["steps"], 1):
            for answer in step["answers"]:
                Login(manifest).until(flow["steps"][:last], answer)
                answers += 1
    for recipe in manifest["drive"]:
        call(manifest["addresses"]["control"], recipe["call"], recipe.get("body"))
print(answers, "answers are as the manifest says")

[python] = (it for it in stack["languages"] if it["language"] == "Python")
with tempfile.TemporaryDirectory() as folder:
    for name in python["files"]:
        file = pathlib.Path(folder, name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(get(f"{python['folder']}{name}?raw"), encoding="utf-8")
    settings = [f"{it['name']}={it['value']}\n" for it in stack["environment"]]
    pathlib.Path(folder, ".env").write_text("".join(settings), encoding="utf-8")
    command = stack["examine"]["command"].replace("COMMAND", python["starts_by"])
    sys.exit(subprocess.run(shlex.split(command), cwd=folder).returncode)
