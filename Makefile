# Each target first installs what it needs (tools/prepare.mjs). Environment variables pass through. `make help` lists all targets.
.DEFAULT_GOAL := help
.PHONY: help start dev test test-long test-runtime flaky soak cluster-test cluster-soak fuzz screenshots bench bench-all profile bench-start bench-stream bench-quota bench-redis bench-metrics bench-spans bench-routing bench-workers bench-scale abuse check advisories sbom sdk openapi migrations

# Prefer dash (Debian's sh, also on macOS): see `run`.
SHELL := $(firstword $(wildcard /bin/dash /usr/bin/dash) /bin/sh)

prepare = @command -v node >/dev/null || \
	{ echo 'Parley needs Node.js: install version 24 from https://nodejs.org/en/download'; exit 1; }; \
	node tools/prepare.mjs

# Runs a server until it exits. On a terminal, Ctrl-C reaches every process of the foreground group, and make exits with
# 130 whatever the server returns. So in the foreground (a "+" in the process state), the shell moves to a new process
# group (set -m; bash does not) and forwards signals. The server drains, and make succeeds if the server exits with 0.
# Otherwise, exec replaces the shell.
define run
@case "$$BASH_VERSION$$(ps -o stat= -p $$$$ 2>/dev/null)" in \
[A-Z]*+*) \
	set -m; $(1) & server=$$!; \
	trap 'kill -INT $$server' INT; trap 'kill -TERM $$server' TERM HUP; \
	wait $$server; code=$$?; \
	while kill -0 $$server 2>/dev/null; do wait $$server; code=$$?; done; \
	exit $$code;; \
*) exec $(1);; \
esac
endef

help: ## List these commands.
	@sed -n 's/^\([a-z-]*\):.*## /make \1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  %-18s %s\n' "$$name" "$$what"; done

start: ## Install dependencies, build, migrate, and serve.
	$(prepare) serve
	$(call run,node dist/src/main.js)

dev: ## Serve from source, and restart on every change.
	$(prepare) test
	$(call run,node --watch --import=ts-blank-space/register src/main.ts)

test: ## Install missing dependencies and run the tests on both databases (PGlite and Postgres).
	$(prepare) test
	@node --import=ts-blank-space/register test/run.ts

test-long: ## Run the tests that take minutes: *.long.test.ts.
	$(prepare) test-long
	@node --import=ts-blank-space/register test/run.ts --long

test-runtime: ## Run the tests that depend on the version of Node or Postgres: see test/run.ts.
	$(prepare) test
	@node --import=ts-blank-space/register test/run.ts --runtime

flaky: ## Run the tests 20 times on a busy CPU, and list failures; ROUNDS=5 FILES=….
	$(prepare) test
	@node tools/flaky.mjs

soak: ## Kill processes 200 times under load, and compare what clients received with the ledger.
	$(prepare) test
	@SOAK_KILLS=$${SOAK_KILLS:-200} node --import=ts-blank-space/register test/run.ts --long test/reliability/crashes.long.test.ts

cluster-test: ## Run three replicas with Patroni, HAProxy, PgBouncer, and Redis, and break each part: test/cluster; FAULT="primary killed".
	$(prepare) test
	@node --import=ts-blank-space/register test/cluster/run.ts $(if $(FAULT),"$(FAULT)")

cluster-soak: ## Break parts of that cluster at random for an hour; SECONDS=600.
	$(prepare) test
	@node --import=ts-blank-space/register test/cluster/run.ts --soak $(or $(SECONDS),3600)

screenshots: ## Take screenshots of every dashboard page (screenshots/), and update those in the README (docs/images/).
	$(prepare) test
	@SCREENSHOTS=1 node --import=ts-blank-space/register test/run.ts --long $(sort $(wildcard test/browser/*.long.test.ts))

fuzz: ## Send generated requests to every operation for ten minutes, and check every response; SEED=… repeats a run.
	$(prepare) test
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-600} node --import=ts-blank-space/register test/run.ts --long test/reliability/conformance.long.test.ts

bench: ## Measure the cost of a request next to peers: bench/RESULTS.md; ONLY=models,usage BENCH_SECONDS=3 ROUNDS=5.
	$(prepare) bench
	@node --import=ts-blank-space/register bench/compare.ts

bench-all: ## The same with more rows, and with throughput at a p99 of 10 and 50 ms; half an hour.
	$(prepare) bench
	@ALL=1 node --import=ts-blank-space/register bench/compare.ts

profile: ## Write a CPU and an allocation profile of a row of make bench to .prepare/profiles; ROW=proxy-1k DATABASE=postgres.
	$(prepare) test
	@ROW=$(ROW) node --import=ts-blank-space/register bench/profile.ts

bench-start: ## Measure how long a start takes, and its memory: bench/results/start.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/start.ts

bench-stream: ## Measure the overhead that Parley adds to a stream, and the cost of 1,000 streams: bench/results/stream.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/stream.ts

bench-quota: ## Measure the cost of exact quotas: bench/results/quota.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/quota.ts

bench-redis: ## Measure the cost of losing Redis: bench/results/redis.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/redis.ts

bench-metrics: ## Measure the cost of scraping /metrics: bench/results/metrics.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/metrics.ts

bench-spans: ## Measure the cost of exporting spans: bench/results/spans.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/spans.ts

bench-routing: ## Measure the cost of UPSTREAMS_FILE with one target: bench/results/routing.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/routing.ts

bench-workers: ## Measure 1, 2, and 4 workers on one Postgres: bench/results/workers.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/workers.ts

bench-scale: ## Measure a million keys and a ledger of ten million requests: bench/results/scale.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/scale.ts

abuse: ## Attack a service on loopback for a few minutes; fails if it slows down, grows, or miscounts: bench/abuse.
	$(prepare) test
	@node --import=ts-blank-space/register bench/abuse.ts

check: ## Check format, lint, and types, and that openapi.json and migrations are valid and up to date.
	$(prepare) test
	$(prepare) lint
	@node tools/check.mjs

advisories: ## Fail if a package that ships has a known advisory: npm audit on each lock file that ships.
	@node tools/advisories.mjs

sbom: ## Write the SBOMs of the server and the dashboard to sbom/, in CycloneDX format.
	@node tools/sbom.mjs

sdk: ## Generate the TypeScript SDK from openapi.json: an npm package in sdk/.
	$(prepare) sdk
	@node tools/sdk/generate.mjs
	@node tools/sdk/build.mjs

openapi: ## Generate openapi.json from the schemas and routes.
	$(prepare) test
	@npm run --silent openapi

migrations: ## Generate a migration for changes to the tables.
	$(prepare) test
	@npm run --silent migrations
