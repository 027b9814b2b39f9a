package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Case is a tool with the JSON arguments of calls that test it.
type Case struct {
	Source
	ValidCall    string            // a call that succeeds, any number of times and concurrently
	BlockingCall string            // a call that ends only with its context; empty if there is none
	FailingCalls map[string]string // calls that end in a Fault, by the name of the subtest
	Secrets      []string          // credentials, which no fault, cause, plan or log line may contain
	Private      []string          // texts such as hosts and statements, which no fault may contain
}

// MaxCancelDelay is how long a call may take to end after its context has ended, on a busy machine.
const MaxCancelDelay = 30 * time.Second

// Run checks the promises of the contract, each in a subtest.
func Run(t *testing.T, c Case) {
	t.Run("the output has the documented type", c.testOutput)
	t.Run("calls run concurrently", c.testConcurrentCalls)
	t.Run("a call is not modified", c.testUnmodifiedCall)
	t.Run("a canceled call does nothing", c.testCanceledBefore)
	if c.BlockingCall != "" {
		t.Run("cancellation ends a call", c.testCanceledDuring)
	}
	for name, arguments := range c.FailingCalls {
		t.Run("fault/"+name, func(t *testing.T) { c.testFault(t, arguments) })
	}
	t.Run("a plan has no secrets", c.testPlan)
	t.Run("generations clean up separately", c.testGenerations)
	t.Run("nothing leaks", c.testLeaks)
}

func (c Case) testOutput(t *testing.T) {
	b := Bind(t, c.Source)
	out, err := b.Do(t.Context(), c.ValidCall)
	if err != nil {
		t.Fatal(err)
	}
	checkType(t, b.Tool.Steps[0].Backend.Effects.Output, out)
}

// checkType checks an output against the type that the adapter documents for it.
func checkType(t *testing.T, documented *schema.Type, out map[string]any) {
	t.Helper()
	resolved, err := value.ResolveAll(out)
	if err != nil {
		t.Fatalf("the output cannot be decoded: %v", err)
	}
	for name := range out {
		if _, ok := documented.Lookup(name); !ok {
			t.Errorf("output.%s is not documented", name)
		}
	}
	if _, violations, _ := documented.Compile().Check(resolved, schema.Unlimited); len(violations) > 0 {
		t.Errorf("the output does not have its documented type: %v", violations)
	}
}

func (c Case) testConcurrentCalls(t *testing.T) {
	b := Bind(t, c.Source)
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for range cap(errs) {
		wg.Go(func() {
			for range 8 {
				if _, err := b.Do(t.Context(), c.ValidCall); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func (c Case) testUnmodifiedCall(t *testing.T) {
	b := Bind(t, c.Source)
	call, err := b.Call(t.Context(), c.ValidCall)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%#v", call.Frame.Input)
	if _, err := b.Action.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	f := call.Frame
	if after := fmt.Sprintf("%#v", f.Input); after != before {
		t.Errorf("the input was modified:\n%s\n%s", before, after)
	}
	if f.Output != nil || len(f.Steps) > 0 || f.Each != nil || f.Failure != nil {
		t.Error("the frame was modified")
	}
}

func (c Case) testCanceledBefore(t *testing.T) {
	b := Bind(t, c.Source)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if out, err := b.Do(ctx, c.ValidCall); err == nil {
		t.Errorf("a canceled call returned %v", out)
	}
	if took := time.Since(start); took > MaxCancelDelay {
		t.Errorf("a canceled call took %v", took)
	}
}

func (c Case) testCanceledDuring(t *testing.T) {
	b := Bind(t, c.Source)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := b.Do(ctx, c.BlockingCall)
	deadline, _ := ctx.Deadline()
	switch late := time.Since(deadline); {
	case err == nil:
		t.Error("the call succeeded")
	case late < 0:
		t.Errorf("the call ended before its context: %v", err)
	case late > MaxCancelDelay:
		t.Errorf("the call ended %v after its context", late)
	}
	if _, err := b.Do(t.Context(), c.ValidCall); err != nil {
		t.Errorf("the call after a canceled one failed: %v", err)
	}
}

func (c Case) testFault(t *testing.T, arguments string) {
	b := Bind(t, c.Source)
	_, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v", err)
	}
	CheckFault(t, f, slices.Concat(c.Private, c.Secrets)...)
	checkAbsent(t, "the log", b.Log.String(), c.Secrets)
	if f.Cause != nil {
		checkAbsent(t, "the cause", f.Cause.Error(), c.Secrets)
	}
}

// implementationText matches errors of Go and its libraries.
var implementationText = regexp.MustCompile(
	`dial tcp|goroutine |0xc000|strconv\.|json: (cannot|unsupported|invalid|unknown)|sql: |net/http|` +
		`context (deadline|canceled)|unexpected EOF|%!|<nil>|\bE(OF|PERM|ACCES|NOENT|PIPE)\b|interface \{\}|map\[`)

// CheckFault checks that a model may read a fault: it is not empty, not too long, free of Go errors, and
// contains none of the secrets.
func CheckFault(t testing.TB, f *adapters.Fault, secrets ...string) {
	t.Helper()
	if strings.TrimSpace(f.Message) == "" {
		t.Error("the fault has no message")
	}
	if found := implementationText.FindString(f.Message); found != "" {
		t.Errorf("the fault has an error of the implementation (%q): %s", found, f.Message)
	}
	if len(f.Message) > 2000 {
		t.Errorf("the fault has %d characters", len(f.Message))
	}
	checkAbsent(t, "the fault", f.Message, secrets)
}

func checkAbsent(t testing.TB, what, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s contains %q: %s", what, s, text)
		}
	}
}

func (c Case) testPlan(t *testing.T) {
	b := Bind(t, c.Source)
	if _, ok := b.Action.(adapters.Planner); !ok {
		return
	}
	plan, err := b.Plan(t.Context(), c.ValidCall)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(plan) == "" {
		t.Error("the plan is empty")
	}
	checkAbsent(t, "the plan", plan, c.Secrets)
}

func (c Case) testGenerations(t *testing.T) {
	old, next := Bind(t, c.Source), Bind(t, c.Source)
	if _, err := old.Do(t.Context(), c.ValidCall); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if _, err := next.Do(t.Context(), c.ValidCall); err != nil {
		t.Errorf("a call failed after the previous generation was closed: %v", err)
	}
}
