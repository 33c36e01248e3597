"""Runs the commands of packaging/repository on this machine, without GitHub, GitLab or a
container engine: in a folder with a sample app and an archive of the kit.

    just test-repository

Each runs as it is in its file, addresses included, because the whole test has a network of its
own, of loopback addresses alone. What cannot run here is named in packaging/repository/README.md.
"""

import contextlib
import fcntl
import functools
import http.server
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import types
from pathlib import Path
from xml.etree import ElementTree

# Both before another package is imported: what is started here inherits them.
if os.environ.get("OWN_NETWORK") is None:
    users = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    command = ["unshare", *users, "--net", sys.executable, *sys.argv]
    os.execvpe(command[0], command, os.environ | {"OWN_NETWORK": "1"})
with socket.socket() as lo:
    SIOCSIFFLAGS, IFF_UP = 0x8914, 1
    fcntl.ioctl(lo, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))

import docker  # noqa: E402
import pytest  # noqa: E402
from docker.models.containers import ExecResult  # noqa: E402
from ruamel.yaml import YAML  # noqa: E402

from test_container import HERE, PROGRAMS, Container, scratch, test_app  # noqa: E402

FILES = HERE / "repository"
PYTHON = HERE.parent / "target/consumers/python/bin"
ODD = HERE.parent / "e2e/examiner/tests/odd/app.py"
ARCHIVE = scratch() / "kit.tar.gz"
CONTROL = ("127.0.0.1", 8010)
# What the examination of a debug build needs here: it is not about Chromium.
FLAGS = "--no-chromium"


def read(path):
    text = (FILES / path).read_text()
    return json.loads(text) if path.endswith(".json") else YAML(typ="safe").load(text)


@functools.cache
def repository():
    """A folder with the files, an app, and the kit's archive where the files expect it."""
    folder = scratch()
    shutil.copytree(FILES, folder, dirs_exist_ok=True)
    shutil.copytree(HERE.parent / "e2e/consumers/python", folder, dirs_exist_ok=True)
    with tarfile.open(ARCHIVE, "w:gz", compresslevel=1) as archive:
        archive.add(PROGRAMS / "signin-kit", "signin-kit-of-a-debug-build/signin-kit")
    (folder / "tools").mkdir()
    shutil.copy(ARCHIVE, folder / "tools/signin-kit.tar.gz")
    return folder


class Job:
    """A job of GitHub's runner, as far as the steps of commands need one."""

    def __init__(self):
        self.temp, self.path, self.steps = scratch(), [str(PYTHON)], {}
        self.summary = self.temp / "summary.md"

    def value(self, text, inputs):
        """The text with its expressions filled in."""
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {f"steps.{step}.outputs.{name}": it for step, all in self.steps.items() for name, it in all.items()}
        known["runner.temp"] = str(self.temp)
        return re.sub(r"\$\{\{ *(\S+) *\}\}", lambda found: known[found[1]], str(text))

    def run(self, step, inputs=None, start=subprocess.run):
        """Runs the commands of a step as the runner's `shell: bash` does."""
        output, path = self.temp / "output", self.temp / "path"
        environment = {name: self.value(it, inputs or {}) for name, it in step.get("env", {}).items()}
        environment |= {"RUNNER_TEMP": str(self.temp), "HOME": str(self.temp)}
        environment |= {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(output), "GITHUB_PATH": str(path)}
        environment["PATH"] = ":".join([*reversed(self.path), os.environ["PATH"]])
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        result = start(shell, cwd=repository(), env=environment)
        if output.exists():
            self.steps[step["id"]] = dict(line.split("=", 1) for line in output.read_text().splitlines())
            output.unlink()
        if path.exists():
            self.path += path.read_text().splitlines()
            path.unlink()
        return result


@contextlib.contextmanager
def served(folder):
    """The address at which its files are."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def background(command, **where):
    """Runs a command that leaves a stack behind, in a group of its own."""
    process = subprocess.Popen(command, start_new_session=True, **where)
    if process.wait() != 0:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        raise AssertionError(command)
    return process


@contextlib.contextmanager
def ended(process):
    """Ends what the command has left behind, and waits until its ports are free."""
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(ConnectionError):
        while True:
            socket.create_connection(CONTROL).close()


def sign_in(environment):
    """Starts the sample app with these settings alone, and signs a user in."""
    test_app.call("PUT", "http://{}:{}/api/upstreams/google".format(*CONTROL), {"mode": "automatic"})
    environment = environment | {"PATH": f"{PYTHON}:{os.environ['PATH']}"}
    app = subprocess.Popen(["python", "app.py"], cwd=repository(), env=environment)
    try:
        while app.poll() is None:
            with contextlib.suppress(ConnectionError):
                socket.create_connection(("localhost", int(environment["PORT"]))).close()
                break
        browser = test_app.Browser()
        page = browser.go("POST", environment["CONSUMER_BASE_URL"] + "/login/google")
        assert "Ada Lovelace" in page, page
    finally:
        app.kill()
        app.wait()


def test_action():
    """An app that passes: its grade, its report as the summary, and the badge."""
    action, job = read(".github/actions/grade-sign-in/action.yml"), Job()
    workflow = read(".github/workflows/sign-in.yml")["jobs"]["grade"]["steps"]
    [use] = [step for step in workflow if step.get("uses", "").startswith("./")]
    assert (FILES / use["uses"] / "action.yml").exists()
    inputs = {name: it.get("default") for name, it in action["inputs"].items()} | use["with"]
    with served(ARCHIVE.parent) as address:
        inputs |= {"kit": f"{address}/{ARCHIVE.name}", "flags": FLAGS}
        commands = [step for step in action["runs"]["steps"] if "run" in step]
        for step in commands:
            assert job.run(step, inputs).returncode == 0, step["name"]
    [kept] = [step["with"]["path"] for step in action["runs"]["steps"] if "uses" in step]
    grade, reports = [job.value(action["outputs"][name]["value"], {}) for name in ("grade", "reports")]
    assert grade == "A" and reports == job.value(kept, {}), (grade, reports, kept)
    assert job.summary.read_text().startswith("# Grade A: `http://localhost:5000/`")
    assert "grade A<" in (Path(reports) / "badge.svg").read_text()
    assert sorted(it.name for it in Path(reports).iterdir()) == ["badge.svg", "junit.xml", "report.html", "report.md"]

    [examine] = [step for step in commands if step.get("id")]
    assert job.run(examine, inputs | {"command": "python nothing.py"}).returncode == 2
    assert job.steps["examine"]["grade"] == "none"

    [stack] = [step for step in workflow if "signin-kit up" in step.get("run", "")]
    with ended(job.run(stack, start=background)):
        sign_in(read("compose.yaml")["services"]["app"]["environment"])


def test_gitlab_job():
    """An app that does not: the job fails, and has its report and its badge."""
    job = read(".gitlab-ci.yml")["sign-in"]
    environment = os.environ | job["variables"] | {"SIGNIN_COMMAND": f"python {ODD} plain", "SIGNIN_FLAGS": FLAGS}
    environment["PATH"] = f"{PYTHON}:{environment['PATH']}"
    script = ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])]
    assert subprocess.run(script, cwd=repository(), env=environment).returncode == 1
    report = ElementTree.parse(repository() / job["artifacts"]["reports"]["junit"]).getroot()
    grade = report.find(".//property[@name='grade']").get("value")
    assert int(report.get("failures")) > 0 and grade in "BCF", (report.attrib, grade)
    [folder] = job["artifacts"]["paths"]
    assert f"grade {grade}<" in (repository() / folder / "badge.svg").read_text()


def test_compose():
    """The stack of the file serves the app of the file; its health check is the image's."""
    services = read("compose.yaml")["services"]
    with Container("stack", services["signin"]["command"]) as stack:
        stack.printed(r"^ *inspector +(\S+)")
        assert services["signin"]["healthcheck"]["test"] == ["CMD", *stack.image.health]
        assert stack.is_healthy()
        sign_in(services["app"]["environment"])
        stack.stop()


# The members of https://containers.dev/implementors/json_reference that the file may use.
DEV_CONTAINER = {
    *("name", "image", "containerEnv", "postCreateCommand", "postStartCommand", "forwardPorts", "portsAttributes"),
}


def test_dev_container():
    """Its commands leave a stack that serves an app with its settings."""
    container = read(".devcontainer/devcontainer.json")
    assert set(container) <= DEV_CONTAINER, container.keys()
    assert {*map(int, container["portsAttributes"])} == {*container["forwardPorts"]}
    environment = os.environ | container["containerEnv"] | {"HOME": str(scratch())}
    where = {"cwd": repository(), "env": environment}
    subprocess.run(["sh", "-c", container["postCreateCommand"]], check=True, **where)
    with ended(background(["sh", "-c", container["postStartCommand"]], **where)):
        sign_in(container["containerEnv"])


class Engine:
    """What Testcontainers asks of a container engine. It runs the image's files in a folder."""

    def __init__(self):
        self.api = types.SimpleNamespace(headers={})
        self.images = self.containers = self
        self.id = self.short_id = "stack"

    def get(self, image):
        assert image == "stack", image

    def create(self, image, command, network_mode, **_):
        assert (image, network_mode) == ("stack", "host")
        self.command = command
        return self

    def start(self):
        self.container = Container("stack", self.command)

    def exec_run(self, cmd, **_):
        result = subprocess.run(self.container.inside(cmd), env={}, capture_output=True)
        return ExecResult(result.returncode, result.stdout + result.stderr)

    def remove(self, **_):
        self.container.stop()

    def close(self):
        pass


SIGN_IN = """
from test_container import sign_in

def test_a_user_signs_in(sandbox):
    project = {name: sandbox.project[name] for name in ("client_id", "client_secret")}
    sign_in(sandbox.broker, sandbox.broker, project, sandbox.project["redirect_uris"][0])
    [login] = sandbox.call("GET", "/api/logins")
    assert login["state"] == "consumed"
"""


def test_testcontainers():
    """The real library, before an engine that is none."""
    docker.from_env = lambda **_: Engine()
    os.environ |= {"DOCKER_HOST": "unix://none", "TESTCONTAINERS_RYUK_DISABLED": "true"}
    (repository() / "tests/test_sign_in.py").write_text(SIGN_IN)
    assert pytest.main(["-q", "-p", "no:cacheprovider", str(repository() / "tests")]) == 0


if __name__ == "__main__":
    os.umask(0o022)
    for test in (test_compose, test_dev_container, test_testcontainers, test_action, test_gitlab_job):
        test()
        print(f"repository: {test.__name__} passed", flush=True)
