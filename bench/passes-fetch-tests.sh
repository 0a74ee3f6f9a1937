#!/usr/bin/env bash
# Fetches LLVM's Transforms regression tests from Debian's source package into a directory (not committed):
#   bench/passes-fetch-tests.sh [VERSION] [DIRECTORY]
# Uses a private apt configuration with a deb-src line of its own, so the system's is left alone.
set -euo pipefail
version=${1:-16}
out=$(realpath -m "${2:-target/passes-tests-$version}")
suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
[ -d "$out/Transforms" ] && { echo "$out/Transforms is there already"; exit 0; }
mkdir -p "$out"/apt/{lists/partial,archives/partial}
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$out/apt/sources.list"
options=(-o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
         -o Dir::State::Lists="$out/apt/lists" -o Dir::Cache="$out/apt" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update -qq
cd "$out"
apt-get "${options[@]}" source --download-only -qq "llvm-toolchain-$version"
tarball=$(ls llvm-toolchain-"$version"_*.orig.tar.xz | head -n 1)
top=$(tar -tf "$tarball" | head -n 1 | cut -d/ -f1) || true
tar -xf "$tarball" --wildcards --strip-components=3 "$top/llvm/test/Transforms/*"
rm -rf apt ./*.tar.xz ./*.dsc
find Transforms -name '*.ll' | wc -l
