# `make hunt` shows real findings on a fresh machine; `make test` runs everything.
CARGO ?= cargo

.PHONY: hunt test test-quick deps build lint bench

deps:
	@scripts/install-tools

build: deps
	$(CARGO) build --release --locked

hunt: build
	target/release/trueline hunt --for 90s --db target/hunt.db

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

test: deps lint
	$(CARGO) test --workspace --locked

test-quick: deps
	$(CARGO) test --workspace --locked --lib --bins

# Isolation on the known bugs of gcc 12: hours at the full budget, resumable. BUDGET=60 SEEDS=1 for a look.
.PHONY: bench-isolate
bench-isolate: deps
	bench/isolate.sh
