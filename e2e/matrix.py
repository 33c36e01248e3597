#!/usr/bin/env python3
"""Grades every consumer and every broker that the suites know, and prints the result as Markdown.

    e2e/matrix.py PROGRAMS > e2e/MATRIX.md

PROGRAMS is the folder of the debug build. A stack must run at STACK_CONTROL. `just matrix` does
all of it, and takes a minute for each consumer."""

import json, os, shutil, socket, subprocess, sys, tempfile, tomllib, urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS, CONTROL = os.path.abspath(sys.argv[1]), os.environ["STACK_CONTROL"]

# The consumers that the law of the examiner holds for good. One whose language is not installed is
# left out.
with open(f"{TOP}/e2e/consumers/consumers.toml", "rb") as table:
    CONSUMERS = tomllib.load(table)["consumer"]
SHARE = "SESSIONS_DB={folder}/sessions.sqlite"
SIGNS = {"PASS": "✓", "FAIL": "**✗**", "NOT TESTABLE": "**✗**", "NOT APPLICABLE": "–", "NOT TESTED": "?", "HARNESS": "?"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def run(program, *arguments, folder=TOP):
    """The JSON that a program prints; its exit status is 1 if it found something."""
    done = subprocess.run([f"{PROGRAMS}/{program}", *arguments], stdout=subprocess.PIPE, text=True, cwd=folder)
    if done.returncode not in (0, 1):
        sys.exit(f"matrix: {program} failed with status {done.returncode}")
    return json.loads(done.stdout)


def shell(command, folder):
    return subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.DEVNULL).returncode == 0


def grade(its):
    """The report on a consumer; none if its language is not installed."""
    if "needs" in its and not shell(its["needs"]["probe"], TOP):
        print(f"matrix: {its['name']} is left out: it needs {its['needs']['packages']}", file=sys.stderr)
        return None
    sources = f"{TOP}/{its['sources']}"
    with tempfile.TemporaryDirectory() as folder:
        filled = lambda command: command.format(top=TOP, programs=PROGRAMS, sources=sources, folder=folder)
        shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("node_modules"), dirs_exist_ok=True)
        if not shell(filled(its.get("build", "")), folder):
            sys.exit(f"matrix: {its['name']} is not built")
        start = f"http://localhost:{free_port()}/"
        return run("examine", start, "--json", "--share", SHARE, "--", *filled(its["run"]).split(), folder=folder)


def table(head, rows):
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for row in rows:
        print("|", " | ".join(row), "|")


def consumers():
    reports = {its["name"]: grade(its) for its in CONSUMERS}
    reports = {name: report for name, report in reports.items() if report}
    one = next(iter(reports.values()))
    kit = f"{one['kit']['version']}, commit {one['kit']['commit'] or 'unknown'}"
    print(f"Graded at {one['at']} by the kit {kit}, and the catalogue {one['catalogue']}.\n\n## Consumers\n")
    print("✓ passes · **✗** fails · – does not concern it · ? was not tested\n")
    verdicts = [{it["id"]: it["verdict"] for it in report["checks"]} for report in reports.values()]
    rows = [[f"`{it['id']}`", *(SIGNS[its[it["id"]]] for its in verdicts)] for it in one["checks"]]
    table(["check", *reports], [["**grade**", *(f"**{it['grade']}**" for it in reports.values())], *rows])


def brokers():
    with urllib.request.urlopen(f"{CONTROL}/api/stack") as stack:
        broker = json.load(stack)["broker"]
    report = run("conformance", broker, "--control", CONTROL, "--races", "--json")
    groups = {}
    for it in report["requirements"]:
        groups.setdefault(it["id"].partition(".")[0], []).append(it["verdict"])
    print(f"\n## Brokers\n\nThe requirements of the contract {report['version']} that each meets, by their groups,")
    print("with 32 requests at once where a value is used once. The tests hold the same on PostgreSQL.\n")
    met = lambda verdicts: f"{verdicts.count('PASS')} of {len(verdicts)}"
    total = met([it["verdict"] for it in report["requirements"]])
    rows = [[f"`{group}`", met(verdicts)] for group, verdicts in groups.items()]
    table(["requirements", "this kit's broker, on SQLite"], [["**all**", f"**{total}**"], *rows])


def flawed_brokers():
    """The brokers of the conformance suite, as its snapshots have them."""
    print("\nA flawed broker of the suite is found by the requirement that it breaks. UNSPECIFIED: the")
    print("specification is silent, and it differs from this kit.\n")
    rows = []
    for name, how in ("flaws", "one after another"), ("racing_flaws", "at once"):
        with open(f"{TOP}/e2e/conformance/tests/conformance/snapshots/{name}.snap") as snapshot:
            for broker in snapshot.read().split("# A broker that ")[1:]:
                words, *lines = broker.splitlines()
                found = [line.split(":")[0].split() for line in lines if line.startswith(("FAIL ", "UNSPECIFIED "))]
                found = [f"`{it}`" + ("" if verdict == "FAIL" else f" ({verdict})") for verdict, it in found]
                rows.append([words, how, ", ".join(found)])
    table(["a broker that", "requests", "breaks"], rows)


print("# Consumers and brokers, graded\n\n`just matrix` makes this table.", end=" ")
consumers()
brokers()
flawed_brokers()
