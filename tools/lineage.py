#!/usr/bin/env python3
"""docs/LINEAGE.md: which tests prove each line of the field (what the systems before us do and get wrong).

What holdfast does about a line stands in tools/lineage.txt, in one sentence. Which tests prove it is said above them, as tags:
    @field B4: what this test shows of it
Each tag belongs to the next test below it. `lineage.py` writes the page; `--check` fails if the page is not what sentences and
tags say, if a required line has no sentence or no tag, or if a tagged test did not pass in the last full run.
"""
import glob, json, os, re, sys, textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
PAGE, SENTENCES = "docs/LINEAGE.md", "tools/lineage.txt"
WIDTH = 124
TAG = re.compile(r"@field\s+([A-Z]\d+):")
TEST = re.compile(r"^\s*(?:TEST\((\w+)\)|(?:await\s+)?(?:t\.)?test\('([^']+)'|check '([^']+)')")
RULE = re.compile(r"\s*\[(\d+)\]")
REQUIRED = [f"{letter}{number}" for letter, last in (("A", 17), ("B", 23), ("D", 17), ("H", 7), ("X", 9), ("Y", 17), ("Z", 11))
            for number in range(1, last + 1)]
TOP = """# Lineage

Three systems came before this one, and a list of what they do, ask for and get wrong came with the project. Each line of that
list stands here once: what holdfast does about it, and the tests that prove it. Where holdfast's rule is another than the one
that was asked for, the section of [DESIGN.md](DESIGN.md) is named. This page is made by `tools/lineage.py` from
`tools/lineage.txt` and from tags above the tests; `make test` fails if a line has no passing test.
"""


def tags():
    """Pairs of a line's key and the name of a test that proves it; and where the test stands."""
    found = []
    for path in sorted(glob.glob("test/**/*.c", recursive=True) + glob.glob("test/e2e/*.mjs") + glob.glob("test/kills/*.mjs") +
                       glob.glob("test/suites/*")):
        if "node_modules" in path:
            continue
        waiting = []
        for line in open(path, encoding="utf-8", errors="replace"):
            waiting += TAG.findall(line)
            test = TEST.match(line)
            if test:
                name = next(group for group in test.groups() if group)
                found += [(key, path, name) for key in waiting]
                waiting = []
        if waiting:
            sys.exit(f"{path}: a tag at the end belongs to no test")
    return found


def sentences():
    """Headings and sentences in their order: ("", heading) or (key, sentence)."""
    lines = [line.rstrip("\n") for line in open(SENTENCES, encoding="utf-8")]
    return [("", line[2:]) if line.startswith("= ") else tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


def entry(key, sentence, tests):
    rules = RULE.findall(sentence)
    text = f"**{key}** {RULE.sub('', sentence)}"
    if rules:
        text += f" (DESIGN {' and '.join(rules)})"
    out = textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return out + textwrap.wrap(", ".join(f"`{name}`" for name in tests), WIDTH, initial_indent="  ", subsequent_indent="  ",
                               break_long_words=False, break_on_hyphens=False)


def page(found):
    out = [TOP]
    for key, text in sentences():
        if not key:
            out += ["" if len(out) > 1 else None, f"## {text}"]
        else:
            out += entry(key, text, sorted({name for k, _, name in found if k == key}))
    return "\n".join(line for line in out if line is not None) + "\n"


def main():
    found = tags()
    text = page(found)
    said, proven = [key for key, _ in sentences() if key], {key for key, *_ in found}
    problems = [f"{key} has no sentence in {SENTENCES}" for key in sorted(proven.union(REQUIRED).difference(said))]
    problems += [f"{key} has more than one sentence in {SENTENCES}" for key in sorted(set(said)) if said.count(key) > 1]
    problems += [f"{key} has no test" for key in said if key not in proven]
    if "--check" not in sys.argv:
        with open(PAGE, "w") as out:
            out.write(text)
        print(f"{PAGE}: {len(said)} lines, {len(found)} proofs")
    else:
        if not os.path.exists(PAGE) or open(PAGE).read() != text:
            problems.append(f"{PAGE} is not what {SENTENCES} and the tags say: run tools/lineage.py")
        results = json.load(open("build/test-results.json"))
        passed = {name for suite in results.values() for name in suite["passed"]}
        problems += [f"{key}: {name} ({path}) did not pass" for key, path, name in found if name not in passed]
    for line in problems:
        print(line)
    sys.exit(1 if problems else 0)


main()
