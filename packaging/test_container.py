"""Runs what packaging/Containerfile puts into its images, without a container engine: the
same files in a bare folder, as process 1 of that folder, as the image's user.

    just test-container

It shows that the programs need nothing else in their image. It does not test the images:
not that they build, and not their network.
"""

import atexit
import base64
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import BaseHandler

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e/consumers/python"))
import test_app  # noqa: E402

PROGRAMS = Path(sys.argv[1]).resolve()
AS_ROOT = os.geteuid() == 0
CHROOT = shutil.which("chroot", path=f"{os.environ['PATH']}:/usr/sbin")


class Image:
    """The last stage of a target of the Containerfile."""

    def __init__(self, target):
        text = (HERE / "Containerfile").read_text()
        stage = re.search(rf"^FROM scratch AS {target}$(.*?)(?=^FROM|\Z)", text, re.M | re.S)[1]
        self.copies = re.findall(r"^COPY --from=\S+ (?:--chown=(\S+) )?(\S+) /$", stage, re.M)
        self.user = re.search(r"^USER (\S+)$", stage, re.M)[1]
        command = re.search(r"^CMD (\[.*\])$", stage, re.M)
        self.entrypoint = json.loads(re.search(r"^ENTRYPOINT (.*)$", stage, re.M)[1])
        self.arguments = json.loads(command[1]) if command else []
        self.health = json.loads(re.search(r"^HEALTHCHECK .*?CMD (.*)$", stage, re.M)[1])
        known = len(self.copies) + bool(command) + 3 + stage.count("EXPOSE")
        assert known == len(re.findall(r"^[A-Z]", stage, re.M)), f"an unknown line in {stage}"

    def assemble(self, target, folder):
        """Puts the image's files into folder, as its COPY lines do."""
        build = scratch()
        subprocess.run([HERE / "rootfs.sh", PROGRAMS / target, build / "rootfs"], check=True)
        folder.chmod(0o755)
        for owner, source in self.copies:
            content = build / source.lstrip("/")
            subprocess.run(["cp", "--recursive", f"{content}/.", folder], check=True)
            for path in content.rglob("*") if owner and AS_ROOT else []:
                os.chown(folder / path.relative_to(content), *map(int, owner.split(":")))


class Container:
    """A program that runs as process 1 in the folder of its image."""

    def __init__(self, target, arguments=None, files=()):
        self.image, self.folder = Image(target), scratch()
        self.image.assemble(target, self.folder)
        for name, text in files:
            path = self.folder / name
            path.parent.mkdir()
            path.write_text(text)
        command = self.image.entrypoint + (self.image.arguments if arguments is None else arguments)
        inside = self.inside(command, "--pid", "--fork", "--kill-child")
        self.process = subprocess.Popen(
            inside, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def inside(self, command, *namespaces):
        """The command, run in the folder by the image's user."""
        user, group = self.image.user.split(":")
        if AS_ROOT:
            enter = [CHROOT, f"--userspec={user}:{group}", self.folder]
            return ["unshare", *namespaces, *enter, *command] if namespaces else [*enter, *command]
        mapped = [f"--map-user={user}", f"--map-group={group}", f"--root={self.folder}"]
        return ["unshare", "--user", *mapped, *namespaces, *command]

    def is_healthy(self, *more):
        """The image's own health check, run beside the program."""
        check = [*self.image.health, *more]
        result = subprocess.run(self.inside(check), env={}, capture_output=True, text=True)
        print(f"container: {' '.join(check)}: {result.stdout or result.stderr}", end="")
        return result.returncode == 0

    def printed(self, pattern):
        """What the pattern's group matches in the next line that has it."""
        lines = ""
        for line in self.process.stdout:
            lines += line
            if found := re.search(pattern, line):
                return found[1]
        raise SystemExit(f"The program ended:\n{lines}")

    def stop(self):
        """Sends SIGTERM to process 1, and checks that it ends by itself with status 0."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        os.kill(int(children.read_text()), signal.SIGTERM)
        output, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, f"status {self.process.returncode} after SIGTERM:\n{output}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class BehindProxy(BaseHandler):
    """Sends what is addressed to the broker's public address to where it listens."""

    handler_order = 1

    def __init__(self, public, bound):
        self.public, self.bound = public, bound

    def http_request(self, request):
        if request.full_url.startswith(self.public + "/"):
            request.full_url = self.bound + request.full_url[len(self.public) :]
        return request


def scratch():
    """A new folder under target, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="container-", dir=HERE.parent / "target"))
    atexit.register(shutil.rmtree, folder)
    return folder


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def sign_in(broker, public, project, callback):
    """Signs a user in at the broker, which the browser reaches at another address."""
    login = project | {"session_key": secrets.token_urlsafe(32), "redirect_uri": callback}
    started = test_app.call("POST", broker + "/v1/login/session", login | {"provider": "google"})
    browser = test_app.Browser()
    browser.opener.add_handler(BehindProxy(public, broker))
    assert browser.go("GET", started["authorization_url"], stop_at=callback) == callback
    result = test_app.call("POST", broker + "/v1/login/result", login)
    assert result["profile"]["name"] == "Ada Lovelace", result["status"]


def test_broker(public, google):
    """The broker signs in with the imitated Google of a stack, which knows the callback of
    its own broker's address: so that is the public one."""
    bind, callback = f"127.0.0.1:{free_port()}", "http://localhost:5000/callback"
    project = {"client_id": "prj_test", "client_secret": "a secret of this test"}
    digest = hashlib.sha256(project["client_secret"].encode()).digest()
    config = f"""
        base_url = "{public}"
        bind = "{bind}"
        store.url = "sqlite:/var/lib/broker/broker.db"
        [upstream.google]
        issuer = "{google}"
        client_id = "federated-sign-in-kit"
        client_secret = "mock-upstream-secret"
        [[project]]
        name = "A test"
        client_id = "{project["client_id"]}"
        client_secret_sha256 = "{base64.urlsafe_b64encode(digest).decode().rstrip("=")}"
        redirect_uris = ["{callback}"]
    """
    with Container("broker", files=[("etc/broker/broker.toml", config)]) as broker:
        broker.printed(r"(Serving) http")
        assert broker.is_healthy()
        sign_in(f"http://{bind}", public, project, callback)
        assert (broker.folder / "var/lib/broker/broker.db").exists()
        broker.stop()
        assert not broker.is_healthy()


def test_stack():
    control = f"127.0.0.1:{free_port()}"
    free = ["--consumer=localhost:0", "--broker=127.0.0.1:0", "--google=127.0.0.1:0", "--github=127.0.0.1:0"]
    with Container("stack", ["--quiet", "--automatic", f"--control={control}", *free]) as stack:
        public = stack.printed(r"^ *broker +(\S+)")
        google = stack.printed(r"^ *imitated Google +(\S+)")
        assert stack.is_healthy(f"--control={control}")
        environment = os.environ | {"STACK_CONTROL": f"http://{control}"}
        subprocess.run([sys.executable, test_app.__file__], env=environment, check=True)
        test_broker(public, google)
        stack.stop()
        assert not stack.is_healthy(f"--control={control}")


if __name__ == "__main__":
    os.umask(0o022)
    test_stack()
