"""`trueline check` on programs from elsewhere, each finding confirmed by gdb.

The sources are those of crates (libz-sys, bzip2-sys, lz4-sys, libsqlite3-sys, lua-src, miniz-sys, brotli-sys, pcre2-sys,
libdeflate-sys, zstd-sys, hexyl) and of Debian's source packages (cjson, expat, libyaml, mujs, libpng1.6, xxhash, gzip, dash, mawk, sed, bc),
fetched into target/; nothing of theirs is kept here. C++ programs use the libraries that Debian installs as headers (libfmt-dev, nlohmann-json3-dev, libeigen3-dev, librange-v3-dev). Each is built at -O0 and -O2, with the drivers of bench/check-programs where
it is a library, and checked as a pair. gdb then stops at the address of each finding and says whether it shows what is complained of.
What is built is not built again. With --old the same is done with another build of the command, to compare.
"""
import collections, glob, json, os, resource, subprocess

import _common

CRATES = {"libz-sys": "=1.1.22", "bzip2-sys": "=0.1.13", "lz4-sys": "=1.11.1", "libsqlite3-sys": "=0.30.1", "lua-src": "=547.0.0"}
CRATES |= {"miniz-sys": "=0.1.12", "brotli-sys": "=0.3.2", "pcre2-sys": "=0.2.9", "libdeflate-sys": "=1.26.1", "zstd-sys": "=2.1.2"}
CPP = ("fmt", "json", "eigen", "ranges", "exceptions")
# Programs with a configure script, and where make leaves them.
CONFIGURED = {"gzip": "gzip", "dash": "src/dash", "mawk": "mawk", "sed": "sed/sed", "bc": "bc/bc"}
ROOT = os.path.abspath("target/check-programs")
OWN = os.path.abspath("bench/check-programs")

options = _common.parser(__doc__)
options.add_argument("--programs", default="zlib,bzip2,lz4,sqlite,lua,cjson,gzip,dash,expat,libyaml,mujs,miniz,brotli,pcre2,libdeflate,zstd,png,xxhash,mawk,sed,bc,fmt,json,eigen,ranges,exceptions,hexyl")
options.add_argument("--compilers", default="gcc-12,clang-16")
options.add_argument("--trueline", default=_common.TRUELINE)
options.add_argument("--old", help="another build of the command")
options.add_argument("--root", default=ROOT, help="where sources, builds and documents go")
args = options.parse_args()
ROOT = os.path.abspath(args.root)


def crates():
    """The crates' sources."""
    where = f"{ROOT}/crates"
    if not all(os.path.isdir(f"{where}/{name}") for name in CRATES):
        os.makedirs(f"{ROOT}/fetch", exist_ok=True)
        with open(f"{ROOT}/fetch/Cargo.toml", "w") as manifest:
            manifest.write('[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n[workspace]\n[dependencies]\n')
            manifest.writelines(f'{name} = "{version}"\n' for name, version in CRATES.items())
        open(f"{ROOT}/fetch/lib.rs", "w").close()
        _common.run("cargo", "vendor", "--quiet", "--manifest-path", f"{ROOT}/fetch/Cargo.toml", where, stdout=subprocess.DEVNULL)
    return where


def debian(package):
    """The tree of one of Debian's source packages, with lists of our own so that the machine's are left alone."""
    where = f"{ROOT}/debian"
    settings = {"Dir::Etc::sourcelist": f"{ROOT}/apt/sources.list", "Dir::Etc::sourceparts": "/dev/null", "APT::Sandbox::User": "root"}
    settings |= {"Dir::State::lists": f"{ROOT}/apt/lists", "Dir::Cache": f"{ROOT}/apt/cache"}
    apt = ["apt-get", "-qq", *(word for item in settings.items() for word in ("-o", "=".join(item)))]
    if not os.path.isdir(where):
        for made in ("apt/lists/partial", "apt/cache/archives/partial", "debian"):
            os.makedirs(f"{ROOT}/{made}", exist_ok=True)
        with open(f"{ROOT}/apt/sources.list", "w") as sources:
            sources.write("deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n")
        _common.run(*apt, "update")
    if not glob.glob(f"{where}/{package}-*/"):
        # Debian's patches may need autoconf and automake, which the sources as published do not.
        _common.run(*apt, "source", "--download-only", package, cwd=where, stdout=subprocess.DEVNULL)
        description = glob.glob(f"{where}/{package}_*.dsc")[0]
        _common.run("dpkg-source", "--skip-patches", "-x", description, cwd=where, stdout=subprocess.DEVNULL)
    return glob.glob(f"{where}/{package}-*/")[0]


def units(program):
    """Sources and flags of a program that is compiled in one go."""
    c = crates()
    z, b, l, s = f"{c}/libz-sys/src/zlib", f"{c}/bzip2-sys/bzip2-1.0.8", f"{c}/lz4-sys/liblz4/lib", f"{c}/libsqlite3-sys/sqlite3"
    lua = f"{c}/lua-src/lua-5.4.7"
    named = lambda where, names: [f"{where}/{name}.c" for name in names.split()]
    own = f"{OWN}/{program}.c"
    if program in CPP:
        return [f"{OWN}/{program}.cpp"], ["-std=c++17", "-I/usr/include/eigen3"]
    if program == "zlib":
        return [own, *named(z, "adler32 compress crc32 deflate inflate inffast inftrees trees uncompr zutil")], [f"-I{z}", "-DHAVE_UNISTD_H"]
    if program == "bzip2":
        return named(b, "bzip2 blocksort huffman crctable randtable compress decompress bzlib"), []
    if program == "lz4":
        return [own, *named(l, "lz4 lz4hc")], [f"-I{l}"]
    if program == "sqlite":
        return [own, f"{s}/sqlite3.c"], [f"-I{s}", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-lm"]
    if program == "lua":
        others = ("lua.c", "luac.c", "onelua.c")
        return [own, *(f for f in sorted(glob.glob(f"{lua}/*.c")) if os.path.basename(f) not in others)], [f"-I{lua}", "-lm"]
    if program == "miniz":
        return [own, f"{c}/miniz-sys/miniz.c"], [f"-I{c}/miniz-sys"]
    if program == "brotli":
        brotli = f"{c}/brotli-sys/brotli"
        return [own, *(f for part in ("common", "dec", "enc") for f in sorted(glob.glob(f"{brotli}/{part}/*.c")))], [f"-I{brotli}/include", "-lm"]
    if program == "pcre2":
        pcre2 = f"{c}/pcre2-sys/upstream"
        included = ("pcre2_jit_match.c", "pcre2_jit_misc.c", "pcre2_ucptables.c")
        defined = "HAVE_STDLIB_H=1 HAVE_MEMMOVE=1 HAVE_CONFIG_H=1 PCRE2_STATIC=1 SUPPORT_PCRE2_8=1 SUPPORT_UNICODE=1 PCRE2_CODE_UNIT_WIDTH=8"
        sources = [f for f in sorted(glob.glob(f"{pcre2}/src/*.c")) if os.path.basename(f) not in included]
        return [own, *sources], [f"-I{pcre2}/src", f"-I{pcre2}/include", *(f"-D{d}" for d in defined.split())]
    if program == "expat":
        expat = f"{debian('expat')}/expat/lib"
        os.makedirs(f"{ROOT}/empty", exist_ok=True)
        open(f"{ROOT}/empty/expat_config.h", "w").close()
        defined = "XML_DTD XML_NS XML_GE=1 XML_POOR_ENTROPY XML_CONTEXT_BYTES=1024"
        return [own, *named(expat, "xmlparse xmlrole xmltok")], [f"-I{expat}", f"-I{ROOT}/empty", *(f"-D{d}" for d in defined.split())]
    if program == "libyaml":
        yaml = debian("libyaml")
        defined = 'YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5 YAML_VERSION_STRING="0.2.5"'
        return [own, *sorted(glob.glob(f"{yaml}/src/*.c"))], [f"-I{yaml}/include", *(f"-D{d}" for d in defined.split())]
    if program == "mujs":
        mujs = debian("mujs")
        return [own, f"{mujs}/one.c"], [f"-I{mujs}", "-lm"]
    if program == "libdeflate":
        libdeflate = f"{c}/libdeflate-sys/libdeflate"
        return [own, *sorted(glob.glob(f"{libdeflate}/lib/*.c")), f"{libdeflate}/lib/x86/cpu_features.c"], [f"-I{libdeflate}"]
    if program == "zstd":
        zstd = f"{c}/zstd-sys/zstd/lib"
        parts = (f for part in ("common", "compress", "decompress") for f in sorted(glob.glob(f"{zstd}/{part}/*.c")))
        return [own, *parts], [f"-I{zstd}", "-DZSTD_DISABLE_ASM", "-DDYNAMIC_BMI2=0"]
    if program == "xxhash":
        xxhash = debian("xxhash")
        return [own, f"{xxhash}/xxhash.c"], [f"-I{xxhash}"]
    if program == "png":
        png = debian("libpng1.6")
        os.makedirs(f"{ROOT}/png", exist_ok=True)
        _common.run("cp", f"{png}/scripts/pnglibconf.h.prebuilt", f"{ROOT}/png/pnglibconf.h")
        # zlib's own sources beside it, as a static build has them.
        parts = named(png, "png pngerror pngget pngmem pngpread pngread pngrio pngrtran pngrutil pngset pngtrans pngwio pngwrite pngwtran pngwutil")
        with_zlib = named(z, "adler32 crc32 deflate inflate inffast inftrees trees zutil")
        return [own, *parts, *with_zlib], [f"-I{png}", f"-I{ROOT}/png", f"-I{z}", "-DHAVE_UNISTD_H", "-DPNG_INTEL_SSE_OPT=0"]
    cjson = debian("cjson")
    return [own, f"{cjson}/cJSON.c"], [f"-I{cjson}", "-lm"]


def build(program, cc, level):
    """The program at a level."""
    os.makedirs(f"{ROOT}/bin", exist_ok=True)
    out = f"{ROOT}/bin/{program}.{cc}.{level}"
    if os.path.exists(out):
        return out
    if program == "hexyl":
        made = f"{ROOT}/build/{program}.{level}"
        settings = [f"profile.dev.opt-level={level[1:]}", "profile.dev.debug=2"]
        _common.run("cargo", "install", "--quiet", "--debug", "--locked", "--root", made, *(w for s in settings for w in ("--config", s)), "hexyl@0.16.0")
        _common.run("cp", f"{made}/bin/hexyl", out)
        return out
    if program not in CONFIGURED:
        sources, flags = units(program)
        driver = cc.replace("gcc", "g++").replace("clang", "clang++") if program in CPP else cc
        _common.run(driver, "-g", f"-{level}", "-w", *(f for f in flags if f != "-lm"), *sources, "-lm", "-o", out)
        return out
    tree = f"{ROOT}/build/{program}.{cc}.{level}"
    os.makedirs(f"{ROOT}/build", exist_ok=True)
    _common.run("cp", "-a", debian(program), tree)
    # Unpacked files may be newer than what autoconf made of them, which is still right; manuals need not be made.
    still = [f"{tool}=:" for tool in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE", "MAKEINFO")]
    _common.run("./configure", "-q", f"CC={cc}", f"CFLAGS=-g -{level} -w", *still, cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["make", "-k", "-s", "-j2", *still], cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _common.run("cp", f"{tree}/{CONFIGURED[program]}", out)
    return out


def measure(trueline, label, program, cc):
    """One line of the table: a pair checked, and each finding shown to gdb."""
    reference, optimized = build(program, cc, "O0"), build(program, cc, "O2")
    text = f"{ROOT}/text"
    with open(text, "w") as file:
        file.writelines(f"{number}\n" for number in range(1, 401))
    words = {"bzip2": ["-c", "-z", text], "gzip": ["-c", text], "sqlite": ["small"], "dash": [f"{OWN}/script.sh"], "hexyl": ["--length", "256", text]}
    words |= {"bc": ["-q", f"{OWN}/script.bc"], "mawk": ["-f", f"{OWN}/program.awk"], "sed": ["-n", "-f", f"{OWN}/script.sed", f"{ROOT}/short"]}
    with open(f"{ROOT}/short", "w") as file:
        file.writelines(f"{number}\n" for number in range(1, 9))
    words = words.get(program, [])
    document, out = f"{ROOT}/{program}.{cc}.{label}.json", f"{ROOT}/{program}.{cc}.{label}.confirmed"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(document, "w") as file:
        command = [trueline, "check", "--reference", reference, "--optimized", optimized, "--time-limit", "900", "--json", "--", *words]
        checked = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if checked.returncode > 1:
        return f"| {program} | {cc} | {label} | not checked: {checked.stderr.strip().splitlines()[-1][:80]} |"
    answers = {}
    for mode in ("addresses", "breakpoints"):
        config = {"binary": optimized, "argv0": reference, "args": words, "document": document, "out": f"{out}.{mode}.json", "mode": mode}
        environment = {**os.environ, "CONFIRM": json.dumps(config)}
        asked = ["gdb", "-nx", "-batch", "-x", f"{OWN}/confirm.py"]
        subprocess.run(asked, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=3600)
        answers[mode] = collections.Counter(v["gdb"] for v in json.load(open(config["out"])))
    run = json.load(open(document))["runs"][0]
    kinds = collections.Counter(v["invariant"] for v in run["violations"])
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    told = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    confirmed = " | ".join(f"{a['confirmed']} of {sum(a.values())}" for a in answers.values())
    return f"| {program} | {cc} | {label} | {run['reference_steps']} | {run['optimized_steps']} | {cpu:.1f} | {told} | {confirmed} |"


print("| program | compiler | command | steps at -O0 | at -O2 | CPU-s | findings | confirmed in gdb | breakpoints confirmed |\n|---|---|---|---|---|---|---|---|---|")
for program in args.programs.split(","):
    for cc in ["rustc"] if program == "hexyl" else args.compilers.split(","):
        for label, trueline in [("old", args.old), ("new", args.trueline)]:
            if trueline:
                print(measure(os.path.abspath(trueline), label, program, cc), flush=True)
