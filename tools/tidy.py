#!/usr/bin/env python3
"""The architecture's rules that a compiler does not check, as a test (TAP).

Arrows point one way: base <- wire <- core <- io <- ops, store <- backend, front <- lib; program sees only the
public header. So do those between the rooms of the core, in includes and in the symbols of its object files.
The core is pure. Each machine's state has one writer. Lines, functions and files stay short.
"""
import collections, os, re, subprocess, sys


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
MAY_USE = {
    "base": {"base"},
    "wire": {"base", "wire"},
    "core": {"base", "wire", "core"},
    "guard": {"guard"},
    "io": {"base", "wire", "core", "guard", "io"},
    "ops": {"base", "wire", "core", "io", "ops"},
    "store": {"base", "wire", "io", "store"},
    "backend": {"base", "wire", "core", "io", "ops", "store", "backend"},
    "front": {"base", "wire", "core", "io", "store", "front"},
    "lib": {"base", "wire", "core", "io", "ops", "store", "backend", "front", "lib", "holdfast"},
    "program": {"holdfast", "program"},
}
# The rooms of the core, from the bottom up: a room uses those that stand before it. Files outside a room stand on top,
# but for the outbox, where every room writes, and the headers that say what the core is for its users.
ROOMS = ["machine", "catalog", "state", "outbox", "call", "server", "client", "bridge", "subscription", "inbox", "remote", "top"]
ASIDE = [{"bridge", "subscription"}]  # rooms that do not use each other
ENTRY = {"core/engine.h", "core/settings.h"}
# Where an arrow must turn, a table of callbacks says why: struct, where it is declared.
TABLES = {"hf_call_owner": "src/core/state/call.h", "hf_bridge_ops": "src/core/state/call.h",
          "hf_call_host": "src/core/state/call.h", "hf_transport_ops": "src/core/state/runtime.h"}
TABLES_MAX = 4
CYCLE_MAX = 6  # files of one room that use each other in a circle
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


def room_of(path):
    parts = path.split("/")
    if parts[:2] != ["src", "core"]:
        return None
    return parts[2] if len(parts) > 3 else "outbox" if parts[2].startswith("outbox.") else "top"


def may_use(room, used):
    return room == used or (ROOMS.index(used) < ROOMS.index(room) and not any({room, used} <= pair for pair in ASIDE))


def check_rooms(path, text):
    room = room_of(path)
    if room not in ROOMS:
        problem("rooms_have_no_circles", path, f"is in a room that {os.path.basename(__file__)} does not know")
        return
    for name in re.findall(r'#include "(core/[^"]+)"', text):
        if name not in ENTRY and not may_use(room, room_of("src/" + name)):
            problem("rooms_have_no_circles", path, f"includes {name}, which stands above it")


def object_symbols(archive):
    """What each object of the core defines, and what it uses: {source: (defined, undefined)}."""
    found, source = {}, None
    sources = {"src_core_" + path[len("src/core/"):].replace("/", "_") + ".o": path
               for path in subprocess.run(["git", "ls-files", "src/core/*.c"], stdout=subprocess.PIPE, text=True).stdout.split()}
    for line in subprocess.run(["nm", archive], stdout=subprocess.PIPE, text=True).stdout.split("\n"):
        if line.endswith(".o:"):
            source = sources.get(line[:-1])
            if source:
                found[source] = (set(), set())
        elif source and line:
            kind, name = line.split()[-2:]
            found[source][1 if kind == "U" else 0].add(name)
    return found


def components(graph):
    """The strongly connected components of more than one node (Tarjan)."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = set()
            while node not in group:
                group.add(stack.pop())
            if len(group) > 1:
                out.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return out


def check_symbols(archive):
    objects = object_symbols(archive)
    owner = {name: source for source, (defined, _) in objects.items() for name in defined}
    rooms, files = collections.defaultdict(set), collections.defaultdict(set)
    for source, (_, used) in objects.items():
        for name in used & owner.keys():
            a, b = room_of(source), room_of(owner[name])
            if a != b:
                rooms[a].add(b)
                if not may_use(a, b):
                    problem("rooms_have_no_circles", source, f"uses {name} of {owner[name]}, which stands above it")
            elif source != owner[name]:
                files[source].add(owner[name])
    circles = components(rooms)
    for circle in circles:
        problem("rooms_have_no_circles", "src/core", "in a circle: " + ", ".join(circle))
    inner = components(files)
    for circle in inner:
        if len(circle) > CYCLE_MAX:
            problem("rooms_have_no_circles", circle[0], f"{len(circle)} files use each other in a circle: " + ", ".join(circle))
    if not objects:
        problem("rooms_have_no_circles", archive, "cannot be read")
    print(f"# table: circles between rooms of the core: {len(circles)}")
    print(f"# table: largest circle of files within a room: {max([len(c) for c in inner], default=0)} (at most {CYCLE_MAX})")


def check_tables():
    for name, path in TABLES.items():
        text = open(path, encoding="utf-8").read()
        if not re.search(r"[Cc]allback table,? because[^/]*\*/\nstruct %s \{" % name, text):
            problem("callback_tables_say_why", path, f"struct {name} is not there, or does not say why it is a callback table")
    for path in subprocess.run(["git", "ls-files", "src/core/*.h"], stdout=subprocess.PIPE, text=True).stdout.split():
        for name, body in re.findall(r"\nstruct (\w+) \{(.*?)\n\};", open(path, encoding="utf-8").read(), re.S):
            if body.count("(*") > 1 and name not in TABLES:
                problem("callback_tables_say_why", path, f"struct {name} is a table of callbacks that is not listed")
    if len(TABLES) > TABLES_MAX:
        problem("callback_tables_say_why", "src/core", f"{len(TABLES)} tables")
    print(f"# table: callback tables of the core: {len(TABLES)} ({', '.join(TABLES)})")


def largest_struct(build):
    """By bytes, as the debugger sees it."""
    program = os.path.join(build, "libholdfast.a")
    listing = subprocess.run(["objdump", "--dwarf=info", program], stdout=subprocess.PIPE, text=True, errors="replace").stdout
    sizes = {}
    for name, size in re.findall(r"DW_TAG_structure_type\)\n.*?DW_AT_name\s*:(?:.*: )?(hf_\w+)\s*\n.*?DW_AT_byte_size\s*: (\d+)", listing):
        sizes[name] = int(size)
    core = set()
    for path in subprocess.run(["git", "ls-files", "src/core/*.h", "src/core/*.c"], stdout=subprocess.PIPE, text=True).stdout.split():
        core |= set(re.findall(r"struct (hf_\w+) \{", open(path, encoding="utf-8").read()))
    ranked = sorted(((size, name) for name, size in sizes.items() if name in core), reverse=True)
    print("# table: largest structs of the core: " + ", ".join(f"{name} {size} bytes" for size, name in ranked[:4]))


def check_architecture():
    """Every `file` and `function` that the document names is there, and every file of the core is in its table."""
    path = "docs/ARCHITECTURE.md"
    text = open(path, encoding="utf-8").read()
    sources = subprocess.run(["git", "ls-files", "src", "test", "include"], stdout=subprocess.PIPE, text=True).stdout.split()
    code = {source: open(source, encoding="utf-8").read() for source in sources if source.endswith((".c", ".h"))}
    known = set(re.findall(r"\bhf_\w+", " ".join(code.values())))
    names = re.findall(r"`((?:src|test|tools|scripts|include|docs|bench)/[\w./-]*)`", text)
    for name in names:
        if not os.path.exists(name):
            problem("the_architecture_names_what_is_there", path, f"{name} does not exist")
    functions = re.findall(r"`(?:struct )?(hf_\w+)`", text)
    for name in functions:
        if name not in known:
            problem("the_architecture_names_what_is_there", path, f"there is no {name}")
    pairs = re.findall(r"`(src/[\w./-]+\.c)`\s+`(\w+)`", text)
    for source, function in pairs:
        if not re.search(r"^[^\n;]*\b%s\([^;]*\)\n\{" % function, code.get(source, ""), re.M):
            problem("the_architecture_names_what_is_there", path, f"{source} has no function {function}")
    for source in code:
        if source.startswith("src/core/") and source.endswith(".c") and f"| `{source}` | {room_of(source)} |" not in text:
            problem("the_architecture_names_what_is_there", path, f"its table does not say why {source} is in its room")
    print(f"# table: files and functions that {path} names: {len(names)} and {len(functions) + len(pairs)}")


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
        check_rooms(path, text)
    if layer != "base" and re.search(r"\b(malloc|calloc|realloc|free|strdup)\s*\(", re.sub(r"hf_(alloc|realloc|free|strdup)\s*\(", "", code)):
        if layer != "guard":
            problem("one_way_to_the_allocator", path, "uses the allocator directly")


RULES = ["arrows_point_one_way", "rooms_have_no_circles", "callback_tables_say_why", "the_architecture_names_what_is_there",
         "the_core_is_pure", "the_core_has_no_globals", "one_writer_of_each_state",
         "one_way_to_do_a_thing",
         "one_way_to_the_allocator", "lines_stay_short", "functions_stay_short", "files_stay_short",
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

check_symbols(archive)
check_tables()
check_architecture()
largest_struct(os.environ.get("HOLDFAST_BUILD", "build"))
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
