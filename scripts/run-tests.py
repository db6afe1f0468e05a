#!/usr/bin/env python3
"""Runs every suite, reads their TAP, and ends with `N passed, N failed`.

A suite is a command that prints TAP: a C binary, a Node test file, a script. One that exits with
something else than it said, or prints no plan, counts as one failure more. What passed is written to
build/test-results.json, from which tools/lineage.py proves that each line of the field has its test.
"""
import concurrent.futures, glob, json, os, re, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
NODE = "build/npm/node_modules/.bin/node" if os.path.exists("build/npm/node_modules/.bin/node") else "node"
LIMIT_S = 1500
TAP = re.compile(r"^(\s*)(not )?ok \d+(?: - (.*?))?\s*(?:# (SKIP|TODO).*)?$")


def suites(wanted):
    found = []
    for path in sorted(glob.glob("build/san/test/test_*")):
        if os.access(path, os.X_OK) and os.path.isfile(path) and not path.endswith("test_sim"):
            found.append((os.path.basename(path), [path]))
    found.append(("test_sim_sanitized", ["build/san/test/test_sim", "--seeds", "1-2000"]))
    found.append(("test_sim", ["build/test/test_sim"]))  # every seed; sanitizers would take an hour
    for path in sorted(glob.glob("test/e2e/*.test.mjs")):
        name = os.path.basename(path)[: -len(".test.mjs")]
        found.append((name, [NODE, "--test", "--test-reporter=tap", path]))
    for path in sorted(glob.glob("test/suites/*")):
        found.append((os.path.basename(path), [path]))
    return [s for s in found if not wanted or any(w in s[0] for w in wanted)]


def run(suite):
    name, command = suite
    began = time.time()
    env = dict(os.environ, HOLDFAST_BUILD=os.path.abspath("build"), NODE=NODE)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT_S, env=env)
        text, code = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = (late.stdout or b"").decode("utf-8", "replace") + f"\n# no end after {LIMIT_S} s\n", -1
    passed, failed, skipped = [], [], 0
    for line in text.splitlines():
        hit = TAP.match(line)
        # Node nests: a file's own line stands at depth 0 above its tests' lines
        if not hit or (hit.group(3) or "").endswith(".test.mjs"):
            continue
        if hit.group(4) == "SKIP":
            skipped += 1
        elif hit.group(2):
            failed.append(hit.group(3))
        else:
            passed.append(hit.group(3))
    if not failed and (code != 0 or not passed):
        failed.append(f"{name} ended with {code} after {len(passed)} tests")
    return name, passed, failed, text, time.time() - began


def main():
    todo = suites(sys.argv[1:])
    results, bad = {}, 0
    # Suites that measure time or load the machine run alone, after the others.
    alone = [s for s in todo if s[0].startswith("test_sim") or s[0] in ("kills", "bench", "conformance", "http_crowd")]
    groups = [([s for s in todo if s not in alone], 2), (alone, 1)]
    for group, width in groups:
        with concurrent.futures.ThreadPoolExecutor(width) as pool:
            for name, passed, failed, text, seconds in pool.map(run, group):
                results[name] = {"passed": passed, "failed": failed}
                print(f"{'FAIL' if failed else 'ok  '} {name:28} {len(passed):4} passed  {seconds:6.1f} s", flush=True)
                for line in text.splitlines():
                    if line.startswith("# table: "):
                        print("     " + line[len("# table: "):])
                if failed:
                    bad += len(failed)
                    print("\n".join("     | " + line for line in text.splitlines()[-120:]), flush=True)
    os.makedirs("build", exist_ok=True)
    with open("build/test-results.json", "w") as out:
        json.dump(results, out, indent=1)
    if os.path.exists("tools/lineage.py") and not sys.argv[1:]:
        proof = subprocess.run([sys.executable, "tools/lineage.py", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        results["lineage"] = {"passed": ["lineage"] if proof.returncode == 0 else [], "failed": []}
        print(f"{'ok  ' if proof.returncode == 0 else 'FAIL'} lineage")
        if proof.returncode:
            bad += 1
            print(proof.stdout.decode())
    total = sum(len(r["passed"]) for r in results.values())
    print(f"{total} passed, {bad} failed")
    sys.exit(1 if bad or not total else 0)


main()
