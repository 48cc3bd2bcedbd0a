# make help lists what there is. Everything but race and lint needs only Go.
SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export CGO_ENABLED ?= 0
export GOFLAGS     := $(strip -trimpath $(GOFLAGS))

GO      ?= go
BUILD   := build
EXE     := $(shell $(GO) env GOEXE)
VERSION ?= $(shell git describe --tags --dirty --match 'v*' 2>/dev/null | sed 's/^v//')
LDFLAGS := -s -w $(if $(VERSION),-X main.version=$(VERSION))

# How long each fuzz target runs, which benchmarks run, what to compare with, how
# many percent of the rounds are done.
T     ?= 30s
BENCH ?= .
COUNT ?= 6
N     ?= 100
REF   ?= HEAD

# Debian's kernels that test-kernels boots; "newest" is the newest packaged, and
# TESTS chooses other tests than the usual ones, "." being all of sys.
KERNELS ?= 5.10 6.1
export TESTS

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
BENCHSTAT   := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# Every pair that must build, vet and compile its tests. FreeBSD stands for
# the systems that get an honest "not supported".
PAIRS := linux/amd64 linux/arm64 linux/386 darwin/amd64 darwin/arm64 \
         windows/amd64 windows/arm64 freebsd/amd64
# The pairs that are shipped.
SHIP  := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# Programs of CI itself, which runs on Linux. ./... leaves hidden folders out.
CIPROGRAMS := $(if $(filter linux,$(shell $(GO) env GOOS)),./.ci/prng ./.ci/vm ./.ci/vm/init ./.ci/vm/plan)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-19s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## build build/belfry, stripped and static
	@mkdir -p $(BUILD)
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BUILD)/belfry.linked ./cmd/belfry
	# Written anew in one go, as an installer does: the kernel maps what the linker
	# has written here and there page by page, and each start pays for that.
	@cp $(BUILD)/belfry.linked $(BUILD)/belfry.new
	@mv -f $(BUILD)/belfry.new $(BUILD)/belfry$(EXE)
	@rm $(BUILD)/belfry.linked

.PHONY: test
test: ## run all tests; needs only Go
	$(GO) test -shuffle=on -timeout 15m ./...

.PHONY: race
race: ## run all tests under the race detector; needs a C compiler
	# Else every helper process of the tests sleeps a second at its end.
	GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout 25m ./...

.PHONY: rounds
rounds: ## repeat what must never fail some hundred times, or N (100) percent of that
	BELFRY_ROUNDS=$(N) $(GO) test -count=1 -p 1 -timeout 30m -run 'Matrix$$|Tree|AtOnce|LastPart|LastBytes|HostThat|HostWalks|SecondSignal|Delivery|Guardian|Nested|Bomb|Sweep|Reuse|Shim|Hast|Storm|Crowd|KilledRunner' ./sys ./cmd/belfry ./cmd/belfry/e2e

.PHONY: test-clients
test-clients: ## drive the server with real clients; needs npm and a network
	BELFRY_CLIENTS=1 $(GO) test -count=1 -v -timeout 20m ./server/clienttest

.PHONY: test-windows
test-windows: ## run the Windows tests under Wine; says so where there is none
	.ci/wine ./windows ./sys/... ./job ./runner/value ./runner/registry ./runner/control

.PHONY: test-kernels
test-kernels: ## run the containment tests on KERNELS in QEMU; says so where it cannot
	.ci/kernels amd64 $(KERNELS)

.PHONY: test-kernels-arm64
test-kernels-arm64: ## the same on an emulated arm64 machine
	.ci/kernels arm64 $(or $(filter-out 5.10,$(KERNELS)),6.1)

.PHONY: cover
cover: ## run all tests and print the coverage of each function
	$(GO) test -coverprofile=cover.out -coverpkg=./... ./...
	$(GO) tool cover -func=cover.out

.PHONY: vet
vet: ## vet this system's build
	$(GO) build ./...
	$(GO) vet ./... $(CIPROGRAMS)

.PHONY: lint
lint: ## gofmt, vet and staticcheck, and bench/cmd/compare; downloads
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./... $(CIPROGRAMS)
	$(GO) run $(STATICCHECK) ./... $(CIPROGRAMS)
	$(GO) -C $(COMPARE) vet .
	$(GO) -C $(COMPARE) run $(STATICCHECK) .
	$(GO) -C $(COMPARE) test .

.PHONY: fmt
fmt: ## format the sources
	gofmt -w .

.PHONY: fuzz
fuzz: ## run every fuzz target for T (30s), those of the wire twice as long
	.ci/fuzz $(T)

.PHONY: gates
gates: ## hold the measured ratios; wants the machine for itself
	BELFRY_GATES=1 $(GO) test -count=1 -run Gate -v ./bench/...

.PHONY: bench
bench: ## run the benchmarks that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./bench/...

.PHONY: bench-compare
bench-compare: ## compare the benchmarks with those of REF, rounds interleaved
	.ci/bench-compare '$(REF)' '$(BENCH)' $(COUNT) $(BENCHSTAT)

# A module of its own, which ./... leaves out.
COMPARE := bench/cmd/compare
# Other servers to measure beside belfry: -peer 'NAME=COMMAND' for each.
PEERS ?=

.PHONY: bench-report
bench-report: build ## measure belfry next to its peers; writes bench/results and README.md
	$(GO) -C $(COMPARE) build -o $(CURDIR)/$(BUILD)/compare .
	$(BUILD)/compare -belfry $(CURDIR)/$(BUILD)/belfry$(EXE) -out bench/results -readme README.md $(PEERS)

.PHONY: golden
golden: ## rewrite the golden files from what the code says now
	@for dir in $$(grep -rlE 'flag\.Bool\("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
		echo "$$dir"; $(GO) test -count=1 "$$dir" -update; done

.PHONY: cross
cross: ## build, vet and compile the tests for every supported pair
	@for pair in $(PAIRS); do \
		start=$$SECONDS; \
		export GOOS=$${pair%/*} GOARCH=$${pair#*/} CGO_ENABLED=0; \
		$(GO) build ./...; \
		$(GO) vet ./...; \
		$(GO) list -test -export ./... > /dev/null; \
		echo "$$pair ok ($$((SECONDS - start)) s)"; \
	done

.PHONY: size
size: build ## print the size of the stripped binary and check its budget
	@ls -l $(BUILD)/belfry$(EXE) | awk '{ printf "%.2f MiB of 12\n", $$5 / 1048576 }'
	$(GO) test -count=1 -run '^TestBinary' -v .

.PHONY: man
man: build ## write the man pages to build/man
	$(BUILD)/belfry$(EXE) man --dir $(BUILD)/man

.PHONY: completions
completions: build ## write the shell completions to build/completions
	@mkdir -p $(BUILD)/completions
	@for shell in bash zsh fish powershell; do \
		$(BUILD)/belfry$(EXE) completion $$shell > $(BUILD)/completions/belfry.$$shell; done
	@ls $(BUILD)/completions

.PHONY: dist
dist: man completions ## build the archives and SHA256SUMS of all shipped pairs in dist/
	.ci/dist '$(LDFLAGS)' $(SHIP)

.PHONY: demo
demo: build ## watch an agent's session: a real build, then a tree killed
	$(GO) run ./docs/demo -server $(BUILD)/belfry$(EXE)

.PHONY: ci
ci: ## run what CI runs, in the same order
	.ci/run
