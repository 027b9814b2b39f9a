package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// A Case is a tool and calls of it, their arguments written as JSON.
type Case struct {
	Source
	Works string // a call that succeeds, as often as it is made and at the same time
	// Blocks is a call that ends with its context only; empty for a backend that waits for nobody.
	Blocks  string
	Fails   map[string]string // calls that end in a Fault, by what is wrong with them
	Secrets []string          // credentials: texts that no fault, plan or log line holds, nor the cause of a fault
	Private []string          // hosts, statements and the like: texts that no fault holds
}

// Patience is how long a call may take to end once its context has, on a machine that is busy with other things. What a test makes wait waits longer.
const Patience = 30 * time.Second

// Run checks the promises of an adapter, each as a sub-test.
func Run(t *testing.T, c Case) {
	t.Run("AnswersWhatItDocuments", c.answers)
	t.Run("CallsRunAtOnce", c.concurrent)
	t.Run("CallIsLeftUntouched", c.untouched)
	t.Run("CancelledCallDoesNothing", c.cancelledBefore)
	if c.Blocks != "" {
		t.Run("CancelEndsTheCall", c.cancelledWithin)
	}
	for what, arguments := range c.Fails {
		t.Run("Fault/"+what, func(t *testing.T) { c.fault(t, arguments) })
	}
	t.Run("PlanShowsNoSecret", c.plan)
	t.Run("GenerationsDoNotShareCleanups", c.generations)
	t.Run("NothingIsLeftBehind", c.leaks)
}

func (c Case) answers(t *testing.T) {
	b := Bind(t, c.Source)
	out, err := b.Do(t.Context(), c.Works)
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, b.Tool.Steps[0].Backend.Effects.Output, out)
}

// conforms checks an output against the type that the adapter documents for it.
func conforms(t *testing.T, documented *schema.Type, out map[string]any) {
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
	if _, violations := documented.Compile().Check(resolved); len(violations) > 0 {
		t.Errorf("the output is not of its documented type: %v", violations)
	}
}

func (c Case) concurrent(t *testing.T) {
	b := Bind(t, c.Source)
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for range cap(errs) {
		wg.Go(func() {
			for range 8 {
				if _, err := b.Do(t.Context(), c.Works); err != nil {
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

func (c Case) untouched(t *testing.T) {
	b := Bind(t, c.Source)
	call, err := b.Call(t.Context(), c.Works)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%#v", call.Frame.Input)
	if _, err := b.Action.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	f := call.Frame
	if after := fmt.Sprintf("%#v", f.Input); after != before {
		t.Errorf("the input was changed:\n%s\n%s", before, after)
	}
	if f.Output != nil || len(f.Steps) > 0 || f.Each != nil || f.Failure != nil {
		t.Error("the frame was written to")
	}
}

func (c Case) cancelledBefore(t *testing.T) {
	b := Bind(t, c.Source)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if out, err := b.Do(ctx, c.Works); err == nil {
		t.Errorf("a cancelled call answered %v", out)
	}
	if took := time.Since(start); took > Patience {
		t.Errorf("a cancelled call took %v", took)
	}
}

func (c Case) cancelledWithin(t *testing.T) {
	b := Bind(t, c.Source)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := b.Do(ctx, c.Blocks)
	deadline, _ := ctx.Deadline()
	switch late := time.Since(deadline); {
	case err == nil:
		t.Error("the call succeeded")
	case late < 0:
		t.Errorf("the call did not wait for its context: %v", err)
	case late > Patience:
		t.Errorf("the call ended %v after its context", late)
	}
	if _, err := b.Do(t.Context(), c.Works); err != nil {
		t.Errorf("the call after a cancelled one failed: %v", err)
	}
}

func (c Case) fault(t *testing.T, arguments string) {
	b := Bind(t, c.Source)
	_, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v", err)
	}
	CheckFault(t, f, append(c.Private, c.Secrets...)...)
	c.quiet(t, "the log", b.Log.String())
	if f.Cause != nil {
		c.quiet(t, "the cause", f.Cause.Error())
	}
}

// goish are traces of the implementation in a sentence for a model.
var goish = regexp.MustCompile(`dial tcp|goroutine |0xc000|strconv\.|json: (cannot|unsupported|invalid|unknown)|sql: |net/http|context (deadline|canceled)|unexpected EOF|%!|<nil>|\bE(OF|PERM|ACCES|NOENT|PIPE)\b|interface \{\}|map\[`)

// CheckFault checks that a fault is a sentence that a model may read.
func CheckFault(t testing.TB, f *adapters.Fault, secrets ...string) {
	t.Helper()
	if strings.TrimSpace(f.Message) == "" {
		t.Error("the fault says nothing")
	}
	if found := goish.FindString(f.Message); found != "" {
		t.Errorf("the fault speaks Go (%q): %s", found, f.Message)
	}
	if len(f.Message) > 2000 {
		t.Errorf("the fault has %d characters", len(f.Message))
	}
	Case{Secrets: secrets}.quiet(t, "the fault", f.Message)
}

func (c Case) quiet(t testing.TB, what, text string) {
	t.Helper()
	for _, s := range c.Secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %q: %s", what, s, text)
		}
	}
}

func (c Case) plan(t *testing.T) {
	b := Bind(t, c.Source)
	if _, ok := b.Action.(adapters.Planner); !ok {
		return
	}
	plan, err := b.Plan(t.Context(), c.Works)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(plan) == "" {
		t.Error("the plan is empty")
	}
	c.quiet(t, "the plan", plan)
}

func (c Case) generations(t *testing.T) {
	old, next := Bind(t, c.Source), Bind(t, c.Source)
	if _, err := old.Do(t.Context(), c.Works); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Errorf("retiring: %v", err)
	}
	if _, err := next.Do(t.Context(), c.Works); err != nil {
		t.Errorf("a call failed after the generation before was retired: %v", err)
	}
}
