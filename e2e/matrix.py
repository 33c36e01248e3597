#!/usr/bin/env python3
"""Grades every consumer and every broker that the suites know, and prints the result as Markdown.

    e2e/matrix.py PROGRAMS > e2e/MATRIX.md

PROGRAMS is the folder of the debug build. A stack must run at STACK_CONTROL. `just matrix` does
all of it, and takes a minute for each consumer."""

import json, os, socket, subprocess, sys, tempfile, urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS, CONTROL = os.path.abspath(sys.argv[1]), os.environ["STACK_CONTROL"]

JDBC = "/usr/share/java/sqlite-jdbc.jar"

# The consumers that the law of the examiner holds for good: the folder of each, how it is built,
# and its command. One whose language is not installed is left out.
CONSUMERS = {
    "Flask": ("python", "", f"{TOP}/target/consumers/python/bin/python app.py"),
    "Express": ("node", "", "node --disable-warning=ExperimentalWarning app.mjs"),
    "Rocket": ("rust", "", f"{PROGRAMS}/consumer-demo"),
    "Go": ("go", "go build -o {made}/app .", "{made}/app"),
    "Java": ("java", f"javac -d {{made}} -cp .:{JDBC} App.java", f"java -cp {{made}}:{JDBC} App"),
    "PHP": ("php", "php -v", "php app.php"),
    "Ruby": ("ruby", "ruby -v", "ruby app.rb"),
}
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


def grade(name, folder, build, command):
    """The report on a consumer; none if it cannot be built here."""
    folder = f"{TOP}/e2e/consumers/{folder}"
    with tempfile.TemporaryDirectory() as made:
        built = subprocess.run(build.format(made=made), shell=True, cwd=folder, stdout=subprocess.DEVNULL)
        if built.returncode != 0:
            print(f"matrix: {name} is left out: {build}", file=sys.stderr)
            return None
        command = command.format(made=made).split()
        start = f"http://localhost:{free_port()}/"
        return run("examine", start, "--json", "--share", SHARE, "--", *command, folder=folder)


def table(head, rows):
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for row in rows:
        print("|", " | ".join(row), "|")


def consumers():
    reports = {name: grade(name, *how) for name, how in CONSUMERS.items()}
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
    report = run("conformance", broker, "--control", CONTROL, "--json")
    groups = {}
    for it in report["requirements"]:
        groups.setdefault(it["id"].partition(".")[0], []).append(it["verdict"])
    print(f"\n## Brokers\n\nThe requirements of the contract {report['version']} that each meets, by their groups.\n")
    met = lambda verdicts: f"{verdicts.count('PASS')} of {len(verdicts)}"
    total = met([it["verdict"] for it in report["requirements"]])
    rows = [[f"`{group}`", met(verdicts)] for group, verdicts in groups.items()]
    table(["requirements", "this kit's broker"], [["**all**", f"**{total}**"], *rows])


print("# Consumers and brokers, graded\n\n`just matrix` makes this table.", end=" ")
consumers()
brokers()
