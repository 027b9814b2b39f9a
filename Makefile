# Everything a person or a CI machine does with this repository.
#
#   make build    the binary ./hatchel, its version stamped
#   make test     installs what is missing, starts real databases, checks everything, stops them
#   make check    the checks alone (formatting, vet, lint, tests with -race, short fuzzing)
#   make fuzz     every fuzz target for FUZZTIME each (default 2m)
#   make bench    the table of ratios against bare programs; BENCH="-quick -rows text" to narrow it
#   make load     two thousand listeners, 500 calls a second and steady changes for a minute; LOAD="-for 10s" to change that
#   make soak     everything that clients and authors do at once, under the race detector, for SOAK (default 5m), and without it for a minute
#   make kill     processes that pay are killed, KILLS (default 1000) over SQLite and as many, by twos, over PostgreSQL, and must have paid nothing twice and lost nothing
#   make kernel   the tests of what confines programs, on the kernel KERNEL (a vmlinuz for x86-64) in an emulator; APPEND="lsm=capability" for its command line
#   make clean    removes what these targets made

VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK := $(CURDIR)/.cache/bin/staticcheck
FUZZTIME    ?= 2m
# All short fuzz runs of `make check` together, in seconds.
FUZZBUDGET  ?= 75
TESTFLAGS   ?= -race -timeout 12m
PACKAGES    ?= ./...
BENCH       ?=
LOAD        ?=
SOAK        ?= 5m
KILLS       ?= 1000
KERNEL      ?= /boot/vmlinuz
APPEND      ?=

.PHONY: build test check format vet lint unit reports fuzz-short fuzz bench load soak kill kernel clean

build:
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o hatchel ./cmd/hatchel

test:
	.ci/install
	.ci/services $(MAKE) --no-print-directory check

# One after the other, because each is parallel inside and fuzzing wants a quiet machine; all of them even when
# one fails, so that one run tells everything that is wrong.
check:
	@$(MAKE) --no-print-directory -k -j1 format vet lint unit reports fuzz-short

format:
	@unformatted=$$(find . -path ./.cache -prune -o -name '*.go' -print | xargs gofmt -l) && \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi

vet:
	go vet $(PACKAGES)

lint:
	$(STATICCHECK) $(PACKAGES)

unit:
	go test $(TESTFLAGS) $(PACKAGES)

# Every place that reports a diagnostic is reached by a golden or a test of the language.
reports:
	@mkdir -p .cache
	go test -coverprofile .cache/reports.out -coverpkg ./hcl/... ./hcl/... >/dev/null
	go run ./.ci/reportsites .cache/reports.out hcl

fuzz-short:
	.ci/fuzz --total $(FUZZBUDGET)

fuzz:
	.ci/install
	.ci/services .ci/fuzz --each $(FUZZTIME)

bench:
	go run ./cmd/hatchel-bench $(BENCH)

load:
	go run ./cmd/hatchel-bench load $(LOAD)

# Without the race detector memory says something.
soak:
	go run ./cmd/hatchel-bench soak -for $(SOAK)
	go run ./cmd/hatchel-bench soak -for 1m -race=false

kill:
	.ci/services go test -count 1 -timeout 3h -v -run '^TestAKilledProcessDoesNothingTwice$$' ./cmd/hatchel -kills $(KILLS)

kernel:
	.ci/kernel $(KERNEL) $(APPEND)

clean:
	rm -rf hatchel dist .cache
