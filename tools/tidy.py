#!/usr/bin/env python3
"""The architecture's rules that a compiler does not check, as a test (TAP).

Arrows point one way: base <- wire <- core <- io <- ops <- backend, front <- lib; program sees only the
public header. The core is pure. Each machine's state has one writer. Lines, functions and files stay short.
"""
import os, re, subprocess, sys


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
MAY_USE = {
    "base": {"base"},
    "wire": {"base", "wire"},
    "core": {"base", "wire", "core"},
    "guard": {"guard"},
    "io": {"base", "wire", "core", "guard", "io"},
    "ops": {"base", "wire", "core", "io", "ops"},
    "backend": {"base", "wire", "core", "io", "ops", "backend"},
    "front": {"base", "wire", "core", "io", "front"},
    "lib": {"base", "wire", "core", "io", "ops", "backend", "front", "lib", "holdfast"},
    "program": {"holdfast", "program"},
}
PURE = {"base", "wire", "core"}
# What a pure layer may take from the system: no descriptors, clocks, processes or threads.
PURE_HEADERS = {"assert.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "float.h", "sanitizer/asan_interface.h",
                "math.h", "errno.h", "limits.h", "locale.h", "emmintrin.h", "sys/wait.h"}
PURE_BANNED = re.compile(r"\b(printf|fprintf|fopen|puts|getenv|time|clock_gettime|gettimeofday|read|write|open|socket|fork|rand|malloc|calloc|realloc)\s*\(")
# Each machine has one function that writes its state, in one place.
MACHINES = {"slot": (r"\b(?:slot->|machine\.)state = ", "src/core/machine/slot.c"),
            "runtime": (r"\bruntime->state = ", "src/core/machine/runtime.c"),
            "call": (r"(?:->|\.)stage = (?!\()", "src/core/call/call.c")}
# What may happen in one way only: the function, the files that may call it, how many places at the most.
ONE_WAY = {"the function that re-sends (send_again)": (r"\bsend_again\(", {"src/core/call/verdict.c"}, 1),
           "the function that releases a call": (r"\bhf_call_release\(", {"src/core/call/answer.c"}, 2)}
ANSWERS = r"\bhf_call_answer\("
LINE, FUNCTION, FILE = 100, 70, 600
problems = {}
writers, ways, answers = dict.fromkeys(MACHINES, 0), dict.fromkeys(ONE_WAY, 0), {}


def problem(rule, where, what):
    problems.setdefault(rule, []).append(f"{where}: {what}")


def code_only(text):
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def functions(lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            yield start, number
            start = None


def definitions_out(code):
    """Without the lines that declare or define a function: what is left are its uses."""
    return "\n".join(line for line in code.split("\n") if not re.match(r"[a-z]\w*[ *].*\(", line))


def count_ways(path, code):
    for machine, (pattern, owner) in MACHINES.items():
        found = len(re.findall(pattern, code))
        writers[machine] += found
        if found and path != owner:
            problem("one_writer_of_each_state", path, f"writes the state of a {machine}")
    uses = definitions_out(code)
    for what, (pattern, owners, most) in ONE_WAY.items():
        found = len(re.findall(pattern, uses))
        ways[what] += found
        if found and (path not in owners or ways[what] > most):
            problem("one_way_to_do_a_thing", path, f"calls {what}")
    found = len(re.findall(ANSWERS, uses))
    if found:
        answers[path] = found


def check(path):
    layer = path.split("/")[1] if path.startswith("src/") else None
    text = open(path, encoding="utf-8").read()
    lines = text.split("\n")
    code = code_only(text)
    if len(lines) > FILE:
        problem("files_stay_short", path, f"{len(lines)} lines")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE:
            problem("lines_stay_short", f"{path}:{number}", f"{len(line)} columns")
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            problem("nothing_is_left_for_later", f"{path}:{number}", line.strip())
    for start, end in functions(lines):
        if end - start > FUNCTION:
            problem("functions_stay_short", f"{path}:{start}", f"{end - start} lines")
    if not lines[0].startswith("/*"):
        problem("every_file_says_what_it_is", path, "no comment on top")
    if not layer:
        return
    for name in re.findall(r'#include "([^"]+)"', text):
        used = name.split("/")[0] if "/" in name else layer
        if used not in MAY_USE[layer]:
            problem("arrows_point_one_way", path, f"includes {name}")
    if layer in PURE:
        for name in re.findall(r"#include <([^>]+)>", text):
            if name not in PURE_HEADERS and not name.startswith("holdfast"):
                problem("the_core_is_pure", path, f"includes <{name}>")
    if layer == "core":
        for hit in PURE_BANNED.finditer(code):
            problem("the_core_is_pure", path, f"calls {hit.group(1)}")
    if layer == "core":
        count_ways(path, code)
    if layer != "base" and re.search(r"\b(malloc|calloc|realloc|free|strdup)\s*\(", re.sub(r"hf_(alloc|realloc|free|strdup)\s*\(", "", code)):
        if layer != "guard":
            problem("one_door_to_the_allocator", path, "uses the allocator directly")


RULES = ["arrows_point_one_way", "the_core_is_pure", "the_core_has_no_globals", "one_writer_of_each_state",
         "one_way_to_do_a_thing",
         "one_door_to_the_allocator", "lines_stay_short", "functions_stay_short", "files_stay_short",
         "every_file_says_what_it_is", "nothing_is_left_for_later"]
for path in subprocess.run(["git", "ls-files", "src", "include", "test", "examples", "bench", "tools"], stdout=subprocess.PIPE, text=True).stdout.split():
    if path.endswith((".c", ".h")) and os.path.exists(path):
        check(path)
# Constant tables are fine; anything in .data or .bss is state that no engine owns.
archive = os.path.join(os.environ.get("HOLDFAST_BUILD", "build"), "libholdfast.a")
listing = subprocess.run(["objdump", "-t", archive], stdout=subprocess.PIPE, text=True).stdout
member = ""
for line in listing.split("\n"):
    if ":     file format" in line:
        member = line.split(":")[0]
    elif member.startswith(("src_core_", "src_wire_")) and re.search(r" O \.(data|bss)\t", line):
        problem("the_core_has_no_globals", member, line.split()[-1])
if "src_core_" not in listing:
    problem("the_core_has_no_globals", archive, "cannot be read")

for machine, count in writers.items():
    print(f"# table: writers of the state of a {machine}: {count}")
    if count != 1:
        problem("one_writer_of_each_state", machine, f"{count} writers")
for what, count in ways.items():
    print(f"# table: callers of {what}: {count}")
print(f"# table: callers of the function that answers (hf_call_answer): {sum(answers.values())}: "
      + ", ".join(f"{os.path.basename(path)} {count}" for path, count in sorted(answers.items())))
for number, rule in enumerate(RULES, 1):
    for text in problems.get(rule, []):
        print("# " + text)
    print(f"{'not ' if rule in problems else ''}ok {number} - {rule}")
print(f"1..{len(RULES)}")
sys.exit(1 if problems else 0)
