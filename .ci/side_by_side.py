#!/usr/bin/env python3
"""Compiles every test program, then runs them and other suites side by side.

    .ci/side_by_side.py FEATURES [--prepare COMMAND]... [--suite COMMAND]...

What is prepared runs beside the compiler; then the programs and the suites run, as many at
once as there are processors and one more, because most of them wait. Each prints one line
when it has ended, with the time that it took; one that failed prints the end of its output as
well.
The output of all is in target/test-output.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

OUTPUT = pathlib.Path("target/test-output")

# What takes longest begins first; then the suites, which are longer than all other programs.
FIRST = ["e2e/examiner law", "e2e browser", "broker broker", "e2e/stack stack"]


def run(name, command, folder=".", environment=None):
    """Runs a command; whether it succeeded."""
    began = time.monotonic()
    log = OUTPUT / f"{name.replace('/', '-').replace(' ', '-')}.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "COMPILED": "1", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        # The process is no longer there to be waited for.
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    lines = log.read_text(errors="replace").splitlines()
    if status:
        print(f"\n{name}: the last lines of {log}\n" + "\n".join(lines[-120:]) + "\n")
    processor = used.ru_utime + used.ru_stime
    print(f"{'FAILED' if status else 'ok':6} {seconds:6.1f} s, {processor:6.1f} s of processor  {name}", flush=True)
    return status == 0


def compiled(features):
    """Compiles the test programs: name, program and folder of each, or None."""
    began = time.monotonic()
    command = ["cargo", "test", "--locked", "--workspace", "--features", features, "--no-run"]
    command += ["--message-format=json-render-diagnostics"]
    linted = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": os.path.abspath(".ci/clippy-rustc")}
    # Without names of targets, which is the only way to have examples built as programs and
    # not as empty tests; so the benchmarks, which are no tests, come after.
    cargo = subprocess.run(command, env=linted, stdout=subprocess.PIPE, text=True)
    if not cargo.returncode:
        benches = [*command, "--bench", "*"]
        cargo.returncode = subprocess.run(benches, env=linted, stdout=subprocess.DEVNULL).returncode
    failed = "FAILED" if cargo.returncode else "ok"
    print(f"{failed:6} {time.monotonic() - began:6.1f} s  compiled, with clippy's lints", flush=True)
    if cargo.returncode:
        return None
    programs = []
    for line in cargo.stdout.splitlines():
        made = json.loads(line)
        if made["reason"] == "compiler-artifact" and made["profile"]["test"] and made["executable"]:
            target = made["target"]
            kind = "" if target["kind"] == ["test"] else " units"
            folder = os.path.dirname(made["manifest_path"])
            name = f"{os.path.relpath(folder)} {target['name']}{kind}"
            programs.append((name, made["executable"], folder))
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features")
    parser.add_argument("--prepare", action="append", default=[])
    parser.add_argument("--suite", action="append", default=[])
    arguments = parser.parse_args()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        prepared = [pool.submit(run, it, shlex.split(it)) for it in arguments.prepare]
        programs = compiled(arguments.features)
        if programs is None or not all(it.result() for it in prepared):
            sys.exit(1)
        suites = [(it, shlex.split(it), ".", {}) for it in arguments.suite]
        for name, program, folder in programs:
            suites.append((name, [program], folder, {"CARGO_MANIFEST_DIR": folder}))
        suites.sort(key=lambda it: FIRST.index(it[0]) if it[0] in FIRST else len(FIRST))
        jobs = [pool.submit(run, *suite) for suite in suites]
        failed = [job for job in jobs if not job.result()]
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    print(f"{len(jobs)} suites in {minutes} min {seconds:02} s; {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
