# Everything installs what it needs first (tools/prepare.mjs); environment variables pass through. `make help` lists all.
.DEFAULT_GOAL := help
.PHONY: help start dev test test-long test-runtime flaky soak fuzz screenshots bench-stream bench-quota bench-redis abuse check advisories sbom sdk openapi migrations

# dash where there is one (Debian's sh, macOS has it too): see `run`.
SHELL := $(firstword $(wildcard /bin/dash /usr/bin/dash) /bin/sh)

prepare = @command -v node >/dev/null || \
	{ echo 'Parley needs Node.js: install version 24 from https://nodejs.org/en/download'; exit 1; }; \
	node tools/prepare.mjs

# Runs a server to its end. Ctrl-C on a terminal reaches every process of the foreground group, and make then exits with
# 130 whatever the server says. So in the foreground of a terminal (a "+" in the process state) the shell makes itself a
# group of its own (set -m; bash does not) and passes signals on: the server drains, and make exits as the server does.
# Elsewhere nothing stands in between.
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

start: ## Install what serving needs, build, migrate and serve.
	$(prepare) serve
	$(call run,node dist/src/main.js)

dev: ## Serve from the sources and start again when one changes.
	$(prepare) test
	$(call run,node --watch --import=ts-blank-space/register src/main.ts)

test: ## Install what is missing and run every test, on both databases (PGlite and Postgres).
	$(prepare) test
	@node --import=ts-blank-space/register test/run.ts

test-long: ## Run the tests that take minutes: *.long.test.ts.
	$(prepare) test-long
	@node --import=ts-blank-space/register test/run.ts --long

test-runtime: ## Run the tests that another version of Node or Postgres can break: see test/run.ts.
	$(prepare) test
	@node --import=ts-blank-space/register test/run.ts --runtime

flaky: ## Run the tests 20 times while other processes take the CPU, and list what failed; ROUNDS=5 FILES=….
	$(prepare) test
	@node tools/flaky.mjs

soak: ## Kill processes 200 times under load and compare what clients saw with the ledger: test/reliability/crashes.long.test.ts.
	$(prepare) test
	@SOAK_KILLS=$${SOAK_KILLS:-200} node --import=ts-blank-space/register test/run.ts --long test/reliability/crashes.long.test.ts

screenshots: ## Take pictures of every page of the dashboard (screenshots/), and those of the README (docs/images/) anew.
	$(prepare) test
	@SCREENSHOTS=1 node --import=ts-blank-space/register test/run.ts --long $(sort $(wildcard test/browser/*.long.test.ts))

fuzz: ## Ask every operation of openapi.json for ten minutes and hold each answer against it; SEED=… asks the same again.
	$(prepare) test
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-600} node --import=ts-blank-space/register test/run.ts --long test/reliability/conformance.long.test.ts

bench-stream: ## Measure what Parley adds to a stream, and what 1,000 cost: bench/results/stream.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/stream.ts

bench-quota: ## Measure what the exact quota costs: bench/results/quota.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/quota.ts

bench-redis: ## Measure what the loss of Redis costs: bench/results/redis.md.
	$(prepare) test
	@node --import=ts-blank-space/register bench/redis.ts

abuse: ## Attack a service on loopback for a few minutes; fails if it slows down, grows, or miscounts: bench/abuse.
	$(prepare) test
	@node --import=ts-blank-space/register bench/abuse.ts

check: ## Format, lint, types; openapi.json and migrations are up to date and sound.
	$(prepare) test
	$(prepare) lint
	@node tools/check.mjs

advisories: ## Fail where a package that ships has a known advisory: npm audit over each lock file that ships.
	@node tools/advisories.mjs

sbom: ## Write sbom/: what the server and the dashboard are made of, as CycloneDX documents.
	@node tools/sbom.mjs

sdk: ## Write the SDK for TypeScript from openapi.json: an npm package in sdk/.
	$(prepare) sdk
	@node tools/sdk/generate.mjs
	@node tools/sdk/build.mjs

openapi: ## Write openapi.json anew from the schemas and routes.
	$(prepare) test
	@npm run --silent openapi

migrations: ## Write a new migration for what changed in the tables.
	$(prepare) test
	@npm run --silent migrations
