"""How the source tree stands: long files, names with two meanings, silent doc comments, exports that nobody uses.

    bench/run house [--at COMMIT] [--list FIGURE]

Counts over crates/*/src. A doc comment is a run of `///` lines. A root export is a name that a crate's lib.rs makes public; it is
used when another crate, the fuzz targets, or the crate's own tests and examples name it. --list prints what a figure counts.
"""
import collections, os, pathlib, re, subprocess, tempfile

import _common


def read(paths):
    return {path: path.read_text(errors="replace") for path in paths}


def doc_comments(text):
    """The words of every doc comment, with its line."""
    words, start = [], None
    for number, line in enumerate([*text.splitlines(), ""], 1):
        said = re.match(r"\s*///(?!/)(.*)", line)
        if said:
            start = start or number
            words += said[1].split()
        elif start:
            yield start, words
            words, start = [], None


def exports(text):
    """The names that a lib.rs makes public."""
    text = re.sub(r"//.*", "", text).split("#[cfg(test)]")[0]
    for tree in re.findall(r"^pub use ([^;]+);", text, re.M | re.S):
        leaves = re.sub(r"\s+", " ", tree)
        for leaf in re.findall(r"(\w+|\*)(?: as (\w+))?(?=\s*[,}]|$)", leaves):
            yield leaf[1] or leaf[0]
    yield from re.findall(r"^pub (?:mod|fn|struct|enum|trait|type|const|static) (\w+)", text, re.M)


def named(text, crate):
    """The words of every path and import that begins with a crate's name; all words of a text that imports everything."""
    found = set()
    for match in re.finditer(rf"\b{crate}::", text):
        at, depth = match.end(), 0
        while at < len(text) and (depth or re.match(r"[\w:{]", text[at])):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        found |= set(re.findall(r"\w+|\*", text[match.end():at]))
    return set(re.findall(r"\w+", text)) if "*" in found else found


def measure(root):
    figures = collections.OrderedDict()
    crates = sorted(p for p in (root / "crates").iterdir() if (p / "Cargo.toml").exists())
    sources = {crate.name: read(sorted((crate / "src").rglob("*.rs"))) for crate in crates}
    outside = {crate.name: read(p for part in ("tests", "examples", "benches") for p in sorted((crate / part).rglob("*.rs"))) for crate in crates}
    fuzz = list(read(sorted((root / "fuzz").rglob("*.rs"))).values())
    size = lambda texts: sum(len(text.splitlines()) for text in texts.values())
    where = lambda path: path.relative_to(root)

    long = [(len(t.splitlines()), where(p)) for texts in sources.values() for p, t in texts.items() if len(t.splitlines()) > 400]
    figures["files over 400 lines"] = (len(long), sum(map(len, sources.values())), [f"{p}: {n}" for n, p in sorted(long, reverse=True)])

    types = collections.defaultdict(set)
    for crate, texts in sources.items():
        for text in texts.values():
            for name in re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)", text, re.M):
                types[name].add(crate)
    shared = {name: found for name, found in types.items() if len(found) > 1}
    listed = [f"{name}: {', '.join(sorted(found))}" for name, found in sorted(shared.items(), key=lambda item: (-len(item[1]), item[0]))]
    figures["type names in several crates"] = (len(shared), len(types), listed)

    said = [(where(p), line, words) for texts in sources.values() for p, t in texts.items() for line, words in doc_comments(t)]
    short = [f"{p}:{line}: {' '.join(words)}" for p, line, words in said if len(words) < 4]
    figures["doc comments under four words"] = (len(short), len(said), short)

    lines = {crate: size(texts) for crate, texts in sources.items()}
    figures["lines of cli"] = (lines["cli"], sum(lines.values()), [])
    largest = max(lines, key=lines.get)
    figures["lines of the largest crate"] = (lines[largest], sum(lines.values()), [f"{c}: {n}" for c, n in sorted(lines.items(), key=lambda i: -i[1])])

    idle, count = [], 0
    for crate in crates:
        library = crate / "src" / "lib.rs"
        if not library.exists():
            continue
        # A command line's main is outside its library.
        own = [t for p, t in sources[crate.name].items() if p.name == "main.rs" or "bin" in p.parts]
        others = [t for name, texts in sources.items() if name != crate.name for t in texts.values()]
        others += [t for texts in outside.values() for t in texts.values()] + fuzz + own
        package = "trueline" if crate.name == "cli" else "trueline_" + crate.name.replace("-", "_")
        words = set().union(*(named(text, package) for text in others))
        for name in exports(sources[crate.name][library]):
            count += 1
            if name != "*" and name not in words:
                idle.append(f"{crate.name}: {name}")
    figures["root exports named by nobody outside"] = (len(idle), count, idle)
    return figures


options = _common.parser(__doc__)
options.add_argument("--at", help="a commit; the working tree without it")
options.add_argument("--list", help="what a figure counts, by any part of its name")
args = options.parse_args()
with tempfile.TemporaryDirectory() as copy:
    root = pathlib.Path(".").resolve()
    if args.at:
        archive = subprocess.run(["git", "archive", args.at, "crates", "fuzz"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", copy], input=archive, check=True)
        root = pathlib.Path(copy)
    for name, (value, total, listed) in measure(root).items():
        if not args.list:
            print(f"figure {name.replace(' ', '-')} {value} of {total}")
        elif args.list in name:
            print("\n".join(listed))
