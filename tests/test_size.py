"""How large things are: files, functions, lists of parameters; and who reaches into another package's private names.

`pytest -s tests/test_size.py` prints the largest ten of each and the lines of every room.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE, NATIVE = ROOT / "src/memetik", ROOT / "native"

FILE_LINES, FUNCTION_LINES, PARAMETERS, LOOSE_PARAMETERS = 450, 80, 8, 150

NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}
SYSTEM = {"_exit"}
"""Names of the standard library that begin with an underscore and are meant for others."""

XACRO = {"_eval_dict"}
"""The values of a file's arguments, which xacro tells in no other way."""

VISER = {"_current_file_upload_states", "_websock_server", "_live_connections", "_impl", "_queue_scene_message"}
"""What the studio needs of viser that has no public name: who is connected, uploads under way, poses in one message."""


@dataclass(frozen=True)
class Function:
    """A function: where it is, its lines, its parameters but for self, and those of them that only keywords set."""

    name: str
    lines: int
    parameters: int
    keywords: int = 0


@cache
def python_files() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def native_files() -> dict[Path, str]:
    paths = sorted(path for path in NATIVE.rglob("*") if path.suffix in (".h", ".cpp"))
    return {path: path.read_text() for path in paths}


def room(path: Path) -> str:
    parts = path.relative_to(ROOT / "src" if path.is_relative_to(PACKAGE) else ROOT).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    own = function.args
    listed = [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, (own.vararg, own.kwarg))]
    return [parameter for parameter in listed if parameter.arg not in ("self", "cls")]


def python_functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, tree in python_files().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def measured_python() -> Iterator[Function]:
    for path, node in python_functions():
        lines, count = (node.end_lineno or node.lineno) - node.lineno + 1, len(parameters_of(node))
        name = f"{path.relative_to(ROOT)}:{node.name}"
        yield Function(name, lines, count, len(node.args.kwonlyargs))


def without_comments(text: str) -> str:
    """C++ with comments, literals and preprocessor lines blanked out, line by line."""
    kinds = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(kinds, lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)


TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>")
SCOPE = re.compile(r"\b(namespace|struct|class|union|enum|extern)\b[^()]*$")
CALLED = re.compile(r"([\w:~]+|operator\s*\S+?)\s*\(")
NO_NAMES = {"alignas", "noexcept", "decltype", "requires", "defined", "__attribute__"}


def native_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, lines, parameters) of the functions in a C++ text: braces behind a parameter list, outside of others."""
    text = without_comments(text)
    line, begin, first, scopes, depth = 1, 0, 1, [], 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "\n":
            line += 1
        if not text[begin:place].strip():
            first = line
        inside = any(kind == "function" for kind, *_ in scopes)
        if depth and not inside:  # a brace among parameters is a default
            continue
        if letter == "{":
            head = TEMPLATE.sub("", text[begin:place])
            called = [found for found in CALLED.finditer(head) if found[1] not in NO_NAMES]
            if not inside and called and not SCOPE.search(head):
                found = called[0]
                scopes.append(("function", found[1], first, parameter_count(head[found.end() :])))
            else:
                scopes.append(("scope", "", first, 0))
        elif letter == "}" and scopes:
            kind, name, since, count = scopes.pop()
            if kind == "function":
                yield name, line - since + 1, count
        if letter in "{};":
            begin, first = place + 1, line


def parameter_count(rest: str) -> int:
    """How many parameters there are up to the parenthesis that ends them."""
    depth, commas, any_text = 0, 0, False
    for letter in rest:
        if letter == ")" and depth == 0:
            break
        depth += (letter in "(<[") - (letter in ")>]")
        commas += letter == "," and depth == 0
        any_text = any_text or not letter.isspace()
    return commas + 1 if any_text else 0


def measured_native() -> Iterator[Function]:
    for path, text in native_files().items():
        for name, lines, count in native_functions(text):
            yield Function(f"{path.relative_to(ROOT)}:{name}", lines, count)


def file_lines() -> dict[str, int]:
    texts = {path: path.read_text() for path in python_files()} | native_files()
    return {str(path.relative_to(ROOT)): len(text.splitlines()) for path, text in texts.items()}


def names_of_any() -> dict[Path, set[str]]:
    """By file, the names that stand for anything there: Any, object, and aliases of Any, made there or imported."""
    names = {path: {"Any", "object"} for path in python_files()}
    for path, tree in python_files().items():
        made = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.value) == "Any"]
        names[path] |= {ast.unparse(target) for node in made for target in node.targets}
    for path, tree in python_files().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memetik"):
                source = (PACKAGE.parent / (node.module or "").replace(".", "/")).with_suffix(".py")
                names[path] |= {
                    alias.asname or alias.name for alias in node.names if alias.name in names.get(source, ())
                }
    return names


def loose_parameters() -> dict[str, list[str]]:
    """Parameters that are annotated plain Any, a name that stands for it, or object, by file."""
    names, found = names_of_any(), defaultdict(list)
    for path, node in python_functions():
        if node.name in ("__eq__", "__exit__", "__setattr__"):  # whose types are the language's
            continue
        for parameter in parameters_of(node):
            if parameter.annotation is not None and ast.unparse(parameter.annotation) in names[path]:
                found[str(path.relative_to(ROOT))].append(f"{node.name}({parameter.arg})")
    return found


def private_names() -> dict[str, set[str]]:
    """By room, the names with an underscore that its files define."""
    defined: dict[str, set[str]] = defaultdict(set)
    for path, tree in python_files().items():
        own = defined[room(path)]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
    return defined


def foreign_private_names() -> list[str]:
    """Uses of another package's underscore names: imported, or as attributes of its objects."""
    defined, found = private_names(), []
    for path, tree in python_files().items():
        for node in ast.walk(tree):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memetik."):
                names = [alias.name for alias in node.names if is_private(alias.name)]
                same = room(PACKAGE.parent / (node.module or "").replace(".", "/") / "x") == room(path)
                found += [f"{where} {node.module}.{name}" for name in names if not same]
            elif isinstance(node, ast.Attribute) and is_private(node.attr):
                own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                known = node.attr in defined[room(path)] | NAMED_TUPLE | SYSTEM | XACRO | VISER | {"_core"}
                found += [f"{where} {ast.unparse(node)}"] if not own and not known else []
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def print_largest(title: str, sizes: dict[str, int], limit: int) -> None:
    print(f"\n{title} (at most {limit})")
    for name, size in sorted(sizes.items(), key=lambda pair: -pair[1])[:10]:
        print(f"  {size:5} {name}")


def test_files_are_short():
    sizes = file_lines()
    print_largest("lines of a file", sizes, FILE_LINES)
    assert {name: size for name, size in sizes.items() if size > FILE_LINES} == {}


def test_functions_are_short():
    sizes = {function.name: function.lines for function in (*measured_python(), *measured_native())}
    print_largest("lines of a function", sizes, FUNCTION_LINES)
    assert len(sizes) > 3000
    assert {name: size for name, size in sizes.items() if size > FUNCTION_LINES} == {}


def test_functions_have_few_parameters():
    """But for public calls whose further options are keywords, and verbs of the command line."""
    counts, long = {}, {}
    for function in (*measured_python(), *measured_native()):
        counts[function.name] = function.parameters
        public = not is_private(function.name.rpartition(":")[2]) and function.keywords
        positional = function.parameters - (function.keywords if public else 0)
        if positional > PARAMETERS and "/cli/" not in function.name:
            long[function.name] = function.parameters
    print_largest("parameters of a function", counts, PARAMETERS)
    assert long == {}


def test_few_parameters_may_be_anything():
    found = loose_parameters()
    print_largest("parameters annotated Any or object", {name: len(own) for name, own in found.items()}, 0)
    total = sum(map(len, found.values()))
    print(f"  {total:5} of them (at most {LOOSE_PARAMETERS})")
    assert total <= LOOSE_PARAMETERS


def test_no_package_uses_the_private_names_of_another():
    assert foreign_private_names() == []


def test_lines_of_the_rooms_are_counted():
    rooms: Counter[str] = Counter()
    for name, lines in file_lines().items():
        rooms[room(ROOT / name)] += lines
    print("\nlines of the rooms")
    for name, lines in sorted(rooms.items()):
        print(f"  {lines:6} {name}")
    total = sum(lines for name, lines in rooms.items() if name.startswith("memetik"))
    print(f"  {total:6} src/memetik")
    assert {"memetik/solve", "native/search"} <= set(rooms)


def test_the_counter_of_native_functions_counts():
    text = """
    namespace a {
    struct B { int x() const { return 1; } };
    template <class T>
    int f(const std::vector<int, T> &a, std::map<int, T> b = {}) {  // not a { brace
      const auto g = [](int x) { return x; };
      if (a.empty()) {
        return g(1);
      }
      return '{';
    }
    }  // namespace a
    """
    assert list(native_functions(text)) == [("x", 1, 0), ("f", 8, 2)]
