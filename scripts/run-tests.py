#!/usr/bin/env python3
"""Runs every suite, reads their TAP, and ends with `N passed, N failed`.

    scripts/run-tests.py [PART-OF-A-NAME ...]   those suites; all of them without
    scripts/run-tests.py --list                 what `meson test` runs besides the C programs it knows
    scripts/run-tests.py --tap NAME             one of those, its result as plain TAP

A suite is a command that prints TAP: a C binary, a Node test file, a script. One that exits with
something else than it said, or prints no plan, counts as one failure more. What passed is written to
build/test-results.json, from which tools/lineage.py proves that each line of the field has its test.
"""
import concurrent.futures, glob, json, os, re, shutil, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
BUILD = os.path.abspath(os.environ.get("HOLDFAST_BUILD", "build"))
SAN = BUILD if os.environ.get("HOLDFAST_SAN") == "0" else os.path.join(BUILD, "san")
NODE = "build/npm/node_modules/.bin/node" if os.path.exists("build/npm/node_modules/.bin/node") else "node"
NODE_MIN = 22
LIMIT_S = 1500
LONG_S = 60
SEEDS = "1-20000"  # `make sim` runs 100,000
TAP = re.compile(r"^(\s*)(not )?ok \d+(?: - (.*?))?\s*(?:# (SKIP|TODO).*)?$")

# Most suites wait more than they compute: one more at a time than there are cores.
WIDTH = min(3, (os.cpu_count() or 1) + 1)
# Load the machine, or fill both cores by themselves: they run alone, after the others.
ALONE = ("test_sim", "test_sim_sanitized", "kills", "conformance", "http_crowd")
# The longest first, so that the workers end together.
LONGEST = ("lint", "liveness", "three_kinds", "http_lifecycle", "sdk", "eras_stdio", "install", "http_sessions", "aggregate", "reconnect",
           "http_evidence", "upgrade", "http_streams", "limits", "eras_http", "parked", "http_clients")
# Why a suite may take more than LONG_S.
REASONS = {
    "conformance": "the official suite, twelve times one after the other: its checks have windows of half a second",
    "lint": "two linters and a compiler read every file",
}


class Suite:
    def __init__(self, name, kind, command):
        self.name, self.kind, self.command = name, kind, command
        self.wants_node = kind == "e2e" or name in ("kills", "conformance")

    def order(self):
        return LONGEST.index(self.name) if self.name in LONGEST else len(LONGEST)


def suites():
    for path in sorted(glob.glob(f"{SAN}/test/test_*")):
        if os.access(path, os.X_OK) and os.path.isfile(path) and not path.endswith("test_sim"):
            yield Suite(os.path.basename(path), "unit", [path])
    yield Suite("test_sim_sanitized", "unit", [f"{SAN}/test/test_sim", "--seeds", "1-2000"])
    yield Suite("test_sim", "sim", [f"{BUILD}/test/test_sim", "--seeds", SEEDS])
    for path in sorted(glob.glob("test/e2e/*.test.mjs") + glob.glob("test/clients/*.test.mjs")):
        name = os.path.basename(path)[: -len(".test.mjs")]
        yield Suite(name, "e2e", [NODE, "--test", "--test-reporter=tap", path])
    for path in sorted(glob.glob("test/suites/*")):
        yield Suite(os.path.basename(path), "suites", [path])


class Result:
    def __init__(self, suite, text, code, seconds):
        self.suite, self.text, self.seconds = suite, text, seconds
        self.passed, self.failed = [], []
        for line in text.splitlines():
            hit = TAP.match(line)
            # Node nests: a file's own line stands at depth 0 above its tests' lines
            if not hit or (hit.group(3) or "").endswith(".test.mjs") or hit.group(4) == "SKIP":
                continue
            (self.failed if hit.group(2) else self.passed).append(hit.group(3))
        if not self.failed and (code != 0 or not self.passed):
            self.failed.append(f"{suite.name} ended with {code} after {len(self.passed)} tests")

    def tell(self):
        note = REASONS.get(self.suite.name, "over a minute, and REASONS in this script does not say why") \
            if self.seconds > LONG_S else ""
        print(f"{'FAIL' if self.failed else 'ok  '} {self.suite.name:28} {len(self.passed):4} passed  {self.seconds:6.1f} s"
              + (f"  ({note})" if note else ""), flush=True)
        for line in self.text.splitlines():
            if line.startswith("# table: "):
                print("     " + line[len("# table: "):])
        if self.failed:
            print("\n".join("     | " + line for line in self.text.splitlines()[-120:]), flush=True)


def run(suite):
    began = time.time()
    env = dict(os.environ, HOLDFAST_BUILD=BUILD, NODE=NODE, HOLDFAST_STATE_DIR=os.path.join(BUILD, "state"))
    try:
        done = subprocess.run(suite.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT_S, env=env)
        text, code = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = (late.stdout or b"").decode("utf-8", "replace") + f"\n# no end after {LIMIT_S} s\n", -1
    return Result(suite, text, code, time.time() - began)


# ---- for `meson test` ----

def lacks_node():
    if not shutil.which(NODE) or not os.path.isdir("test/node_modules"):
        return "Node and its packages are not installed; `scripts/setup test` does it"
    version = subprocess.run([NODE, "-p", "process.versions.node"], stdout=subprocess.PIPE, text=True).stdout
    return "" if int(version.split(".")[0]) >= NODE_MIN else f"Node {NODE_MIN} is needed; `scripts/setup test` installs it"


def print_tap(name):
    suite = next(s for s in suites() if s.name == name)
    lack = lacks_node() if suite.wants_node else ""
    if lack:
        print(f"1..0 # SKIP {lack}")
        return 0
    result = run(suite)
    skipped = re.search(r"^1\.\.0 # SKIP .*$", result.text, re.M)
    if skipped:
        print(skipped.group(0))
        return 0
    print("\n".join("# " + line for line in result.text.splitlines() if not TAP.match(line)))
    names = [("ok", n) for n in result.passed] + [("not ok", n) for n in result.failed]
    for number, (word, test) in enumerate(names, 1):
        print(f"{word} {number} - {test}")
    print(f"1..{len(names)}")
    return 1 if result.failed else 0


# ---- for `make test` ----

def prove_lineage():
    proof = subprocess.run([sys.executable, "tools/lineage.py", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{'ok  ' if proof.returncode == 0 else 'FAIL'} lineage")
    if proof.returncode:
        print(proof.stdout.decode())
    return proof.returncode == 0


def main(wanted):
    began = time.time()
    todo = sorted((s for s in suites() if not wanted or any(w in s.name for w in wanted)), key=Suite.order)
    results, bad = {}, 0
    for group, width in (([s for s in todo if s.name not in ALONE], WIDTH), ([s for s in todo if s.name in ALONE], 1)):
        with concurrent.futures.ThreadPoolExecutor(width) as pool:
            for future in concurrent.futures.as_completed([pool.submit(run, suite) for suite in group]):
                result = future.result()
                results[result.suite.name] = {"passed": result.passed, "failed": result.failed}
                bad += len(result.failed)
                result.tell()
    os.makedirs("build", exist_ok=True)
    with open("build/test-results.json", "w") as out:
        json.dump(results, out, indent=1, sort_keys=True)
    total = sum(len(r["passed"]) for r in results.values())
    if os.path.exists("tools/lineage.py") and not wanted:
        proved = prove_lineage()
        total, bad = total + proved, bad + (not proved)
    print(f"({(time.time() - began) / 60:.1f} minutes)")
    print(f"{total} passed, {bad} failed")
    return 1 if bad or not total else 0


if sys.argv[1:] == ["--list"]:
    for s in suites():
        if s.kind != "unit":
            print(s.name, s.kind, "alone" if s.name in ALONE else "beside")
elif sys.argv[1:2] == ["--tap"]:
    sys.exit(print_tap(sys.argv[2]))
else:
    sys.exit(main(sys.argv[1:]))
