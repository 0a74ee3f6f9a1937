# `make hunt` shows real findings on a fresh machine; `make test` runs everything.
CARGO ?= cargo

.PHONY: hunt test test-quick deps build lint bench dist audit

deps:
	@scripts/install-tools all

# Building and hunting need compilers and debuggers only.
.PHONY: deps-hunt
deps-hunt:
	@scripts/install-tools hunt

build: deps-hunt
	$(CARGO) build --release --locked

hunt: build
	target/release/trueline hunt --for 90s --db target/hunt.db

lint:
	$(CARGO) fmt --all --check
	@# These modules are named by the table of invariants, where cargo fmt does not look.
	rustfmt --edition 2024 --check crates/oracle/src/invariants/*.rs
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Rustdoc without a warning: dead links inside the code's documentation are found here.
.PHONY: doc
doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

test: deps lint doc check-extend audit
	$(CARGO) test --workspace --locked --no-fail-fast

test-quick: deps
	$(CARGO) test --workspace --locked --lib --bins

# Every measurement is `bench/run MEASURE`; `bench/run` lists them. These targets build first and run the usual ones.
# The short figures, five runs each with peers beside us, into docs/measurements/runs.md: an hour on two cores, resumable.
RUNS ?= 5
bench: build
	$(CARGO) build --release --locked -p trueline-trace -p trueline-mutate -p trueline-repair --examples
	bench/run figures --runs $(RUNS)

# The campaign behind the ledger, resumable; most of its time goes to triage. ARGS="--cc gcc-15,clang-21" for the releases before.
.PHONY: ledger-hunt
ledger-hunt: build
	bench/run ledger-hunt $(ARGS)

# Isolation on the known bugs of gcc 12: hours at the full budget, resumable. ARGS="--budget 60 --seeds 1" for a look.
.PHONY: bench-isolate
bench-isolate: deps
	bench/run isolate $(ARGS)

# Longer ones: merging a million units, and campaigns killed two hundred times.
.PHONY: bench-scale
bench-scale: build
	bench/run scale-merge
	TRUELINE_KILLS=200 $(CARGO) test --release --locked -p trueline --test hunt killed_at -- --nocapture

# Memory and open files over 100,000 units with a stub compiler: about 17 CPU-minutes.
.PHONY: bench-flat
bench-flat: build
	bench/run scale-flat --out docs/measurements/scale-flat.svg

# Ten million executions in all; needs a nightly toolchain and cargo-fuzz. EXECUTIONS=10000 for a look.
EXECUTIONS ?= 1000000
.PHONY: fuzz
fuzz:
	scripts/fuzz $(EXECUTIONS)

# Hostile functions against `trueline repair`, judged in gdb: COUNT of them from SEED on, four builds each. Resumable: what
# target/fuzz-repair/done.jsonl names is not done again. Exit code 1 when a proved value is wrong; each is written there.
COUNT ?= 2000
SEED ?= 1
.PHONY: fuzz-repair
fuzz-repair: build
	$(CARGO) build --release --locked -p trueline-adversary --example repair_hostile
	target/release/examples/repair_hostile --count $(COUNT) --seed $(SEED) --out target/fuzz-repair

# A tarball and a Debian package with the command, its hook library, man pages, completions and schemas.
dist: build
	scripts/dist

# make install PREFIX=~/.local
PREFIX ?= /usr/local
.PHONY: install
install: build
	install -Dm755 target/release/trueline $(DESTDIR)$(PREFIX)/bin/trueline
	install -Dm644 target/release/libtrueline_llvm_hook.so $(DESTDIR)$(PREFIX)/lib/trueline/libtrueline_llvm_hook.so

# The diffs of docs/extend.md, applied to a copy and compiled.
.PHONY: check-extend
check-extend:
	scripts/check-extend

# Licences, sources, bans and advisories by deny.toml, with cargo-deny, which is built once where it is missing.
audit:
	scripts/audit
