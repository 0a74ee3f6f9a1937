#!/usr/bin/env python3
"""Memory and open files of a hunt over many units, with a stub compiler so that a day fits into minutes.

usage: bench/run scale-flat [--units 100000] [--trueline target/release/trueline] [--every 2] [--out docs/measurements/scale-flat.svg]

The stub is a C program that copies a prebuilt binary with the program's name written into its debug
information; everything else is the real thing: generator, engine, oracles, database. A hunt with real
compilers does about 5 units per core-second, so 100,000 units stand for a core's day many times over.
"""
import argparse, os, pathlib, sqlite3, subprocess, sys, tempfile, time

HOLE = "trueline_stub_" + "x" * 120 + ".c"
PROGRAM = """static int twice(int x) {
  int y = x + x;
  return y;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 3; i++) {
    sum += twice(i);
  }
  return sum & 1;
}
__asm__(".globl _start\\n_start: xor %ebp, %ebp\\n and $-16, %rsp\\n call main\\n mov %eax, %edi\\n mov $60, %eax\\n syscall\\n");
"""
STUB = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  const char *source = 0, *out = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-v")) {
      puts("gcc (stub) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.");
      return 0;
    }
    size_t n = strlen(argv[i]);
    if (!strcmp(argv[i], "-o") && i + 1 < argc) out = argv[++i];
    else if (n > 2 && !strcmp(argv[i] + n - 2, ".c")) source = argv[i];
  }
  if (!source || !out || strlen(source) >= sizeof HOLE) return 1;
  struct stat s;
  int in = open(TEMPLATE, O_RDONLY);
  if (in < 0 || fstat(in, &s)) return 2;
  char *bytes = malloc(s.st_size), *at = bytes;
  if (read(in, bytes, s.st_size) != s.st_size) return 3;
  size_t left = s.st_size, hole = sizeof HOLE - 1;
  while ((at = memmem(at, left, HOLE, hole))) {
    memset(at, 0, hole);
    strcpy(at, source);
    at += hole;
    left = s.st_size - (at - bytes);
  }
  int to = open(out, O_CREAT | O_TRUNC | O_WRONLY, 0755);
  return write(to, bytes, s.st_size) == s.st_size ? 0 : 4;
}
"""
LEVELS = "-Og,-O1,-O2,-O3,-Ofast,-Os,-Oz"


def run(*words, **more):
    subprocess.run(words, check=True, **more)


def make_stub(place):
    (place / HOLE).write_text(PROGRAM)
    run("gcc", "-g", "-O0", "-static", "-nostdlib", "-fno-stack-protector", "-fcf-protection=none", HOLE, "-o", "template", cwd=place)
    (place / "stub.c").write_text(STUB)
    run("gcc", "-O2", "-static", f'-DHOLE="{HOLE}"', f'-DTEMPLATE="{place}/template"', "stub.c", "-o", "stub-gcc", cwd=place)
    return place / "stub-gcc"


def sample(pid, db):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    field = lambda name: int(next(l for l in status.splitlines() if l.startswith(name)).split()[1])
    files = len(os.listdir(f"/proc/{pid}/fd"))
    try:
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=5) as c:
            units = c.execute("SELECT count(*) FROM units WHERE state = 'done'").fetchone()[0]
    except sqlite3.Error:
        units = 0
    return units, field("VmRSS:") / 1024, files, field("Threads:")


def figure(samples, path):
    width, height, left, base = 760, 300, 60, 250
    top_units, top_memory, top_files = max(s[0] for s in samples) or 1, max(s[1] for s in samples) * 1.25, max(s[2] for s in samples) * 1.6
    x = lambda u: left + (width - left - 70) * u / top_units
    y = lambda v, top: base - (base - 30) * v / top
    line = lambda index, top: " ".join(f"{x(s[0]):.1f},{y(s[index], top):.1f}" for s in samples)
    ticks = "".join(f'<text x="{x(top_units * i / 5):.0f}" y="{base + 18}" text-anchor="middle">{top_units * i // 5:,}</text>' for i in range(6))
    marks = "".join(
        f'<text x="{left - 6}" y="{y(top_memory * i / 4, top_memory) + 4:.0f}" text-anchor="end" fill="#1d4ed8">{top_memory * i / 4:.0f}</text>'
        f'<text x="{width - 64}" y="{y(top_files * i / 4, top_files) + 4:.0f}" fill="#b45309">{top_files * i / 4:.0f}</text>'
        for i in range(5)
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui,sans-serif" font-size="12">'
        f'<rect width="{width}" height="{height}" fill="#fff"/><line x1="{left}" y1="{base}" x2="{width - 70}" y2="{base}" stroke="#999"/>{ticks}{marks}'
        f'<polyline points="{line(1, top_memory)}" fill="none" stroke="#1d4ed8" stroke-width="1.5"/>'
        f'<polyline points="{line(2, top_files)}" fill="none" stroke="#b45309" stroke-width="1.5"/>'
        f'<text x="{left}" y="16" fill="#1d4ed8">resident memory, MB</text><text x="{width - 70}" y="16" text-anchor="end" fill="#b45309">open files</text>'
        f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">units done</text></svg>\n'
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--trueline", default="target/release/trueline")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--every", type=float, default=2, help="seconds between samples")
    parser.add_argument("--for", dest="duration", help="stop after this time, as hunt's --for")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        db = place / "hunt.db"
        programs = -(-args.units // 7)
        command = [args.trueline, "hunt", "--generator", "weave", "--cc", make_stub(place), f"--opt={LEVELS}", "--seeds", f"1..{programs + 1}", "--confirm", "none",
                   "--no-report", "--jobs", args.jobs, "--db", db]
        if args.duration:
            command += ["--for", args.duration]
        hunt = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        samples = []
        while hunt.poll() is None:
            time.sleep(args.every)
            try:
                samples.append(sample(hunt.pid, db))
            except (FileNotFoundError, StopIteration, ProcessLookupError):
                break
        _, code, usage = os.wait4(hunt.pid, 0) if hunt.returncode is None else (0, hunt.returncode, None)
        if code != 0:
            sys.exit(f"the hunt ended with {code}")
        with sqlite3.connect(db) as c:
            states = dict(c.execute("SELECT state, count(*) FROM units GROUP BY state"))
        size = sum(f.stat().st_size for f in place.glob("hunt.db*")) / 1e6
    print(f"units by state: {states}; database {size:.1f} MB")
    if usage is not None:
        cpu = usage.ru_utime + usage.ru_stime
        print(f"{cpu:.0f} CPU-s of the process itself and its children, {cpu / sum(states.values()) * 1000:.1f} ms per unit")
    print(f"{'units':>8} {'MB':>7} {'files':>6} {'threads':>8}")
    for i in range(0, len(samples), max(1, len(samples) // 20)):
        print("{:>8} {:>7.1f} {:>6} {:>8}".format(*samples[i]))
    warm = [s for s in samples if s[0] >= sum(states.values()) / 10]
    half = len(warm) // 2
    mean = lambda part, index: sum(s[index] for s in part) / max(1, len(part))
    for index, name in ((1, "memory (MB)"), (2, "open files")):
        values = [s[index] for s in warm]
        print(f"{name}: first half {mean(warm[:half], index):.1f}, second half {mean(warm[half:], index):.1f}, least {min(values):.1f}, most {max(values):.1f}")
    if args.out:
        figure(samples, args.out)
        print(f"figure: {args.out}")


if __name__ == "__main__":
    main()
