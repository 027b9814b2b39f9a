# Targets for people and CI.
#
#   make build          build the binary ./hatchel with its version
#   make test           install what the tests need, start the databases, run make check, stop them
#   make check          format, tests, coverage of diagnostics
#   make lint           run go vet and Staticcheck, and check the types for other systems; .github/workflows/test.yml does it
#                       for each change, beside make test
#   make manifests      decode the examples of Kubernetes and Docker strictly; .github/workflows/test.yml does it for each
#                       change, beside make test
#   make check-release  what only a release needs, and what .github/workflows/nightly.yml runs: lint, manifests, race, matrices,
#                       searched, portable, bounds, fuzz, load, soak, kill, replicas, judge, mutants, packages, chart and bench
#   make race           run the tests with -race, with more reloads and edits, and those of the editor at every place;
#                       .github/workflows/test.yml does it for each change, beside make test
#   make matrices       run the tests of large matrices with all of their cases; make check runs some, chosen by a seed
#   make searched       run the tests of calls again, each call made by the tools of a toolset with a search block
#   make portable       run the tests of a program that was built without cgo, which has no SQLite and confines no programs,
#                       and build it for macOS and Windows
#   make bounds         check how long things take that people and deployments wait for, on a machine that does nothing else
#   make fuzz           run every fuzz target for FUZZTIME (default 2m)
#   make bench          print the table of ratios; BENCH="-quick -rows text" narrows it
#   make load           2,000 subscribed clients, 500 calls a second and changes for a minute; LOAD="-for 10s" changes that
#   make soak           all kinds of clients and authors at once for SOAK (default 5m) with -race, then for a minute without
#   make kill           kill processes during payments KILLS times (default 1000) on SQLite and on PostgreSQL; no payment
#                       may be repeated or lost, and a webhook is told of every answer; during sign-ins KILLS/4 times
#   make replicas       kill and replace the processes of a server ROUNDS times (default 10) under clients of every SDK; no session
#                       and no call of another process may be lost; OTHER=<program> runs a program of another version in place of
#                       half of the processes, as during an upgrade
#   make judge          import large OpenAPI documents and judge the requests of every tool; JUDGE="-arguments 5" makes fewer
#   make mutants        judge every mutant of every fixture by the plans of its calls; make check judges some of them
#   make kernel         run the sandbox tests on the kernel KERNEL (a vmlinuz for x86-64) in an emulator; APPEND adds to its
#                       command line
#   make release        build what a release consists of into dist; VERSION=v1.2.3 names it
#   make packages       build a release twice and install its packages
#   make chart          lint and render the Helm chart with several sets of values, and decode its objects strictly
#   make vsix           pack the extension for VS Code into dist/hatchel.vsix
#   make clean          remove what these targets made

VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK := $(CURDIR)/.cache/bin/staticcheck
FUZZTIME    ?= 2m
# The times of the tests that make check has run.
TIMES       ?= $(CURDIR)/.cache/times
GOTEST      := go run ./.ci/gotest $(TIMES) -timeout 15m
BENCH       ?=
LOAD        ?=
SOAK        ?= 5m
KILLS       ?= 1000
ROUNDS      ?= 10
OTHER       ?=
JUDGE       ?=
KERNEL      ?= /boot/vmlinuz
APPEND      ?=

.PHONY: build test check checks format lint unit plain race matrices searched portable bounds manifests systems reports check-release fuzz bench load soak kill replicas mutants kernel release packages chart vsix clean

build:
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o hatchel ./cmd/hatchel

# Programs that nobody debugs are compiled without what a debugger reads.
test check: export GOFLAGS := $(GOFLAGS) -gcflags=all=-dwarf=false
# The compiler of C takes a third of the time for SQLite without it, and with the first level of optimization, which is
# enough for tests. All of the packages have the same flags, so that SQLite is compiled once.
test check: export CGO_CFLAGS := $(or $(CGO_CFLAGS),-O1)

# Packages are compiled while what the tests need is downloaded.
test:
	@.ci/install & go build ./...; built=$$?; wait $$! && exit $$built
	.ci/services $(MAKE) --no-print-directory check

# All of the checks run even if one fails, so that one run reports everything. Two run at once, because the tests that
# start processes wait most of the time. Those with several servers come last, when everything is compiled: their clients
# have timeouts of their own, which a busy machine exceeds.
check:
	@rm -f $(TIMES)
	@status=0; $(MAKE) --no-print-directory -k -j2 checks || status=1; \
	go run ./.ci/gotest -slowest $(TIMES); exit $$status

checks: unit reports format plain

check-release: lint manifests race matrices searched portable bounds fuzz load soak kill replicas judge mutants packages chart bench

format:
	@unformatted=$$(find . -path ./.cache -prune -o -name '*.go' -print | xargs gofmt -l) && \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi

lint: systems
	.ci/install linter
	go vet ./...
	$(STATICCHECK) ./...

# Each package is built and tested in one way: with coverage what reports diagnostics, and the rest as it is. The target
# race builds everything another time. The packages whose tests take longest begin first, here and below.
unit:
	$(GOTEST) ./runtime ./adapters/shell ./runtime/durable/state ./adapters/sql ./runtime/edge/console \
		./runtime/load/source/git ./runtime/... ./adapters/...

plain:
	$(GOTEST) -parallel 4 ./cmd/hatchel/e2e ./examples ./cmd/hatchel ./.ci/gotest $$(go list ./... | \
		grep -vE '^hatchel/(runtime|adapters|hcl)(/|$$)|^hatchel/(examples|cmd/hatchel|cmd/hatchel/e2e)$$')

race:
	.ci/services go test -race -p 1 -timeout 40m ./...
	go test -race -timeout 20m ./examples -run Reloads -reloads 500
	go test -race -timeout 20m ./cmd/hatchel/editor/lsp -run RandomEdits -edits 10000
	go test -timeout 60m ./cmd/hatchel/editor/lsp -run Examples -every 1

# The packages whose tests import internal/sampletest.
matrices:
	HATCHEL_TEST_MATRIX=full .ci/services go test -count 1 -timeout 60m $$(git grep -l '"hatchel/internal/sampletest"' -- '*_test.go' | \
		xargs -n1 dirname | sort -u | sed 's,^,./,')

searched:
	THROUGH_SEARCH=1 go test -count 1 -timeout 20m ./runtime

bounds:
	.ci/services go test -count 1 -timeout 10m -parallel 1 ./examples -bounds \
		-run 'ConsoleInABrowserShowsCallsAsTheyHappen|ViewsInAHostAtTheirBounds'
	.ci/services go test -count 1 -timeout 10m -parallel 1 ./cmd/hatchel/e2e -bounds \
		-run 'ServeFollowsARepository|NoProgramOutlivesAKilledServer|EndsStreamsOfEventsAtOnce|AnEndedSignInIsKnown|SignInsAreRefreshed'

# A module of its own reads the examples of Kubernetes and Docker with the types of those programs, which take
# 40 seconds of CPU to compile. CI has a job for them beside make test.
manifests:
	cd .ci/manifests && go test -vet=off ./...

# Systems other than that of this machine.
systems:
	go run ./.ci/typecheck darwin arm64 ./...
	go run ./.ci/typecheck linux arm64 ./...
	go run ./.ci/typecheck -cgo=false windows arm64 ./cmd/hatchel

# Without cgo a program has no SQLite and confines no programs, as in the programs for macOS and Windows of a release.
portable:
	CGO_ENABLED=0 go test ./adapters/shell -run TestSystemThatCannotConfine
	CGO_ENABLED=0 go test ./cmd/hatchel -run TestScripts/without_cgo
	go run ./.ci/typecheck windows amd64 ./cmd/hatchel
	.ci/portable

# Every place that reports a diagnostic must be reached by a golden or a test. Coverage is measured only of packages with
# such places. Packages without tests are left out, because for them go test builds a tool for coverage, with its own flags.
reports:
	@mkdir -p .cache
	$(GOTEST) -coverprofile .cache/reports.out -coverpkg $$(go run ./.ci/reportsites -packages hcl) \
		$$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./hcl/...)
	go run ./.ci/reportsites .cache/reports.out hcl

fuzz:
	.ci/install
	.ci/services .ci/fuzz $(FUZZTIME)

bench:
	.ci/services go run ./cmd/hatchel-bench $(BENCH)

load:
	go run ./cmd/hatchel-bench load $(LOAD)

# Memory is judged only without the race detector.
soak:
	go run ./cmd/hatchel-bench soak -for $(SOAK)
	go run ./cmd/hatchel-bench soak -for 1m -race=false

kill:
	.ci/services go test -count 1 -timeout 3h -v -run '^TestAKilledProcess' ./cmd/hatchel/e2e -kills $(KILLS)

replicas:
	.ci/services go test -count 1 -timeout 1h -v -run 'Replicas|TestAProcessServesWhatEarlierOnesHaveStored' ./cmd/hatchel/e2e \
		-rounds $(ROUNDS) -other "$(abspath $(OTHER))"

judge:
	.ci/judge $(JUDGE)

mutants:
	HATCHEL_MUTATION=full go test -timeout 30m ./cmd/hatchel/mutation

kernel:
	.ci/kernel $(KERNEL) $(APPEND)

release:
	.ci/install release
	.ci/release $(VERSION)

packages:
	.ci/install release
	.ci/check-packages

chart:
	.ci/install helm
	cd .ci/manifests && HATCHEL_HELM=$(CURDIR)/.cache/bin/helm go test -vet=off -count 1 -run Chart ./...

vsix:
	.ci/install referees extension
	.ci/vsix dist/hatchel.vsix

clean:
	rm -rf hatchel dist .cache
