package test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/runtime/stage/failure"
)

// Options say how the tests of a suite are run.
type Options struct {
	Parallel int    // tests at once; at least 1
	Seed     uint64 // of the order
	Repeat   int    // how often each test is run; at least 1
	FailFast bool   // no test begins after one has failed
	// MaxAnswerTokens is how many tokens an answer may take; 0 for as many as its tool says
	MaxAnswerTokens int
	// MinRecall is what the search tests must have together; 0 if each must find all of its tools
	MinRecall float64
}

// Status is what has become of a test.
type Status string

const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Missed  Status = "missed" // of a search test that has not found all, where the recall of all decides
)

// Result is what has become of one test. That of a test that runs several times is its first failure.
type Result struct {
	*Case
	Status   Status
	Reason   string          // why it was skipped
	Failures hcl.Diagnostics // each at its expectation
	Warnings hcl.Diagnostics // of a test that has passed, too
	Duration time.Duration
	Found    []string          // the tools that a search test has found
	Goldens  map[string]golden // the files that differ
	Tapes    []*Tape           // what was recorded

	answers []answerTokens // of a test that has passed
}

// Report is what has become of all tests.
type Report struct {
	Results  []*Result // in the order of the files
	Options  Options
	Began    time.Time
	Duration time.Duration
	Branches map[diag.Range][2]int // how often each condition was false, and true
}

// Count returns how many tests have a status.
func (r *Report) Count(s Status) (n int) {
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// Run runs the selected tests in random order. The error is that of ctx.
func (s *Suite) Run(ctx context.Context, o Options) (*Report, error) {
	began := time.Now()
	r := &Report{Options: o, Began: began, Results: make([]*Result, len(s.Cases))}
	seen, searches := newBranches(), &searchable{suite: s, compiled: map[*hcl.Config]*compiled{}}
	defer searches.close()
	order := rand.New(rand.NewPCG(o.Seed, 0)).Perm(len(s.Cases))
	var next, failed atomic.Int64
	var workers sync.WaitGroup
	for range min(o.Parallel, len(order)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(order) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				result := &Result{Case: s.Cases[order[i]], Status: Skipped, Reason: "a test has failed before"}
				if !o.FailFast || failed.Load() == 0 {
					s.runCase(ctx, result, o, seen, searches)
				}
				if result.Status == Failed {
					failed.Add(1)
				}
				r.Results[order[i]] = result
			}
		})
	}
	workers.Wait()
	r.Branches, r.Duration = seen.seen, time.Since(began)
	return r, context.Cause(ctx)
}

// runCase runs one test as often as it is to be run, and until it fails.
func (s *Suite) runCase(ctx context.Context, r *Result, o Options, seen *branches, searches *searchable) {
	if r.Reason = r.Skip; r.OnlyLive && s.Live == nil {
		r.Reason = "is run with --live only"
	}
	if r.Reason != "" {
		return
	}
	for _, program := range r.Requires {
		if _, err := exec.LookPath(program); err != nil {
			r.Reason = program + " is not installed"
			return
		}
	}
	r.Status = Passed
	for range o.Repeat {
		began := time.Now()
		if r.Kind == "search" {
			searches.runSearch(ctx, r)
		} else {
			s.runOnce(ctx, r, o.MaxAnswerTokens, seen)
		}
		r.Duration += time.Since(began)
		if len(r.Failures) == 0 {
			continue
		}
		if r.Status = Failed; o.MinRecall > 0 && r.Found != nil {
			r.Status = Missed
		}
		return
	}
}

// runOnce makes the call of a test, and sets what differs from what it expects.
func (s *Suite) runOnce(ctx context.Context, out *Result, maxTokens int, seen *branches) {
	c := out.Case
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r := &running{Case: c, mocks: s.newMocks(c)}
	defer r.mocks.Close()
	check := &checker{running: r, suite: s}
	defer func() { out.Failures, out.Goldens = check.failures.Scrub(c.config.Secrets), check.goldens }()
	if !check.checkTapes() {
		return
	}
	err := failure.Try(func() error { return r.makeCall(ctx, s, seen) })
	check.sent = r.mocks.Sent()
	var compile *compileError
	var query *queryError
	switch {
	case errors.As(err, &query):
		if check.checkMocks() {
			check.fail(query.at, "Query failed", "%s.", diag.ToSentence(query.Error()))
		}
	case errors.As(err, &compile):
		check.failures = append(check.failures, compile.diags...)
	case err != nil:
		check.fail(c.Range, "Call not made", "%s.", diag.ToSentence(err.Error()))
	case check.checkMocks():
		if check.check(); len(check.failures) == 0 {
			out.answers, out.Warnings = r.answers, nil
			check.checkBudget(out, maxTokens)
		}
	}
	if ctx.Err() != nil && len(check.failures) > 0 {
		check.fail(c.Range, "Test timed out", "The test has taken more than %s. timeout = \"1m\" allows more.",
			failure.FormatDuration(c.Timeout))
	}
	if err == nil {
		out.Tapes = r.mocks.Tapes()
	}
}
