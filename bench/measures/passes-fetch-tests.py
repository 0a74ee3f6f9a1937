"""Fetches LLVM's Transforms regression tests from Debian's source package into a directory (not committed).

Uses a private apt configuration with a deb-src line of its own, so the system's is left alone.
"""
import glob, os, shutil

import _common

options = _common.parser(__doc__)
options.add_argument("version", nargs="?", default="16")
options.add_argument("directory", nargs="?")
options.add_argument("--suite", default="bookworm")
options.add_argument("--mirror", default="http://deb.debian.org/debian")
args = options.parse_args()
out = os.path.abspath(args.directory or f"target/passes-tests-{args.version}")
if os.path.isdir(f"{out}/Transforms"):
    raise SystemExit(f"{out}/Transforms is there already")
for directory in ("lists", "archives"):
    os.makedirs(f"{out}/apt/{directory}/partial", exist_ok=True)
with open(f"{out}/apt/sources.list", "w") as sources:
    sources.write(f"deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {args.mirror} {args.suite} main\n")
settings = {"Dir::Etc::SourceList": f"{out}/apt/sources.list", "Dir::Etc::SourceParts": "/dev/null", "Dir::State::Lists": f"{out}/apt/lists",
            "Dir::Cache": f"{out}/apt", "APT::Sandbox::User": "root"}
apt = ["apt-get", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
_common.run(*apt, "update", "-qq")
_common.run(*apt, "source", "--download-only", "-qq", f"llvm-toolchain-{args.version}", cwd=out)
tarball = sorted(glob.glob(f"{out}/llvm-toolchain-{args.version}_*.orig.tar.xz"))[0]
# TOP/llvm/test/Transforms/… becomes Transforms/…
_common.run("tar", "-xf", tarball, "-C", out, "--wildcards", "--strip-components=3", "*/llvm/test/Transforms/*")
shutil.rmtree(f"{out}/apt")
for left in glob.glob(f"{out}/*.tar.xz") + glob.glob(f"{out}/*.dsc"):
    os.remove(left)
print(len(glob.glob(f"{out}/Transforms/**/*.ll", recursive=True)), "tests in", out)
