package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// outcome is what has come of one call.
type outcome struct {
	result   any
	hasValue bool // the call has a structured result
	// structured says that the result is sent as structured content, not as a text alone
	structured bool
	text       string
	content    []any
	failed     bool        // the result is an error for the model
	partial    result.Meta // the failures after which the call went on
	fault      *mcp.Error  // nil for none
	rule       string      // that denies the call; empty for none
	refused    []string    // the paths of the arguments that their types refuse
	approval   bool        // an operator was asked
	steps      map[string]any
	called     []string
	after      map[string]any
	masked     []any // what callers saw in place of masked values
}

// branches counts the conditions that were evaluated.
type branches struct {
	mu   sync.Mutex
	seen map[diag.Range][2]int // how often it was false, and true; guarded by mu
}

func newBranches() *branches { return &branches{seen: map[diag.Range][2]int{}} }

func (b *branches) record(at diag.Range, holds bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := b.seen[at]
	if holds {
		counts[1]++
	} else {
		counts[0]++
	}
	b.seen[at] = counts
}

// running is one test while it runs.
type running struct {
	*Case
	generation *runtime.Generation
	mocks      *Mocks
	encoded    []byte // the arguments
	explaining bool   // the rules are evaluated, and no call is made
	out        outcome
	observed   sync.Mutex // guards out.steps, out.called, out.refused, out.masked and answer
	answer     []byte     // the result of the last call as JSON; nil for a text
	answers    []answerTokens
}

// makeCall compiles what the test reaches, and makes its call. The error is about the test, not about the call.
func (r *running) makeCall(ctx context.Context, s *Suite, seen *branches) error {
	r.out.steps = map[string]any{}
	build := runtime.Build{
		Set: s.Set, Dir: s.Dir, Version: s.Version, Mocks: r.mocks,
		Observer: &call.Observer{
			Step: r.recordStep, Refused: r.recordRefused, Masked: r.recordMasked,
			Answered: r.recordAnswer,
			Branch: func(at diag.Range, holds bool) {
				if !r.explaining {
					seen.record(at, holds)
				}
			},
		},
	}
	if !r.Now.IsZero() {
		now := r.Now
		build.Now = func() time.Time { return now }
	}
	g, diags := runtime.Compile(ctx, reduce(r.config, r.Case), build)
	if g == nil {
		return &compileError{diags}
	}
	r.generation = g
	defer g.Close()
	caller, err := r.caller()
	if err != nil {
		return err
	}
	if r.encoded, err = r.encodeArguments(ctx, s, caller); err != nil {
		return err
	}
	r.explain(ctx, caller)
	if err := r.request(ctx, caller); err != nil {
		return err
	}
	for page := 2; page <= r.Page; page++ {
		if err := r.turnPage(ctx, caller, page); err != nil {
			return err
		}
	}
	return r.queryAfter(ctx)
}

// turnPage repeats the call with the cursor of its answer.
func (r *running) turnPage(ctx context.Context, caller *mcp.Caller, page int) error {
	object, _ := r.out.result.(map[string]any)
	cursor, _ := object["next_cursor"].(string)
	if cursor == "" {
		cursor = result.NoticedCursor(r.out.text)
	}
	if cursor == "" {
		return fmt.Errorf("the answer before page %d has no cursor", page)
	}
	args, err := value.Decode(r.encoded)
	if err != nil {
		return fmt.Errorf("the arguments cannot be decoded: %w", err)
	}
	args.(map[string]any)[hcl.CursorInput] = cursor
	if r.encoded, err = value.AppendJSON(nil, args); err != nil {
		return fmt.Errorf("the arguments cannot be encoded as JSON: %w", err)
	}
	r.out = outcome{steps: map[string]any{}, rule: r.out.rule, approval: r.out.approval}
	return r.request(ctx, caller)
}

// compileError is the mistakes of a configuration that cannot be compiled.
type compileError struct{ diags hcl.Diagnostics }

func (e *compileError) Error() string { return "the configuration cannot be compiled" }

func (r *running) recordAnswer(encoded []byte) {
	r.observed.Lock()
	defer r.observed.Unlock()
	if r.answer = nil; len(encoded) > 0 {
		r.answer = bytes.Clone(encoded)
	}
}

func (r *running) recordStep(name string, output any, ran bool) {
	r.observed.Lock()
	defer r.observed.Unlock()
	if r.out.steps[name] = output; ran {
		r.out.called = append(r.out.called, name)
	}
}

func (r *running) recordRefused(violations []schema.Violation) {
	r.observed.Lock()
	defer r.observed.Unlock()
	for _, v := range violations {
		if !r.explaining {
			r.out.refused = append(r.out.refused, v.Path)
		}
	}
}

func (r *running) recordMasked(given any) {
	r.observed.Lock()
	defer r.observed.Unlock()
	r.out.masked = append(r.out.masked, given)
}

func (r *running) args() map[string]any {
	if r.Args == nil {
		return map[string]any{}
	}
	return r.Args
}

// caller returns the caller of the call, with the capabilities that its answers need.
func (r *running) caller() (*mcp.Caller, error) {
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte("{}")}
	if len(r.Answers) > 0 {
		caller.Capabilities = []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`)
	}
	if r.Caller == nil {
		return caller, nil
	}
	id := &mcp.Identity{Key: "test", Groups: texts(r.Caller["groups"]), Scopes: texts(r.Caller["scopes"])}
	id.Subject, _ = r.Caller["subject"].(string)
	claims, _ := r.Caller["claims"].(map[string]any)
	var err error
	if id.Claims, err = value.AppendJSON(nil, claims); err != nil {
		return nil, fmt.Errorf("the claims cannot be encoded as JSON: %w", err)
	}
	headers, _ := r.Caller["headers"].(map[string]any)
	id.Headers = make(map[string]string, len(headers))
	for name, text := range headers {
		id.Headers[strings.ToLower(name)], _ = text.(string)
	}
	caller.SetIdentity(id)
	return caller, nil
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if text, ok := e.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// explain finds the rule that denies the call. An unknown resource is the answer to the request, too.
func (r *running) explain(ctx context.Context, caller *mcp.Caller) {
	r.explaining = true
	defer func() { r.explaining = false }()
	e, err := r.generation.Explain(ctx, r.Kind, &mcp.CallRequest{Name: r.Target, Arguments: r.encoded, Caller: caller})
	if err == nil && e.Verdict == "denied" {
		r.out.rule = e.Rule
	}
}

// encodeArguments returns the arguments as a client sends them: those of a prompt as texts, and files by the ids of
// their uploads.
func (r *running) encodeArguments(ctx context.Context, s *Suite, caller *mcp.Caller) ([]byte, error) {
	args := map[string]any{}
	for name, v := range r.args() {
		var err error
		switch r.Kind {
		case "prompt":
			v, err = value.Text(v)
		case "tool":
			if m, ok := r.Tool.Input.Lookup(name); ok {
				u := uploader{ctx: ctx, files: s.FS, generation: r.generation, owner: caller.Owner()}
				v, err = u.upload(m.Type, v)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the argument %s cannot be sent: %w", name, err)
		}
		args[name] = v
	}
	encoded, err := value.AppendJSON(nil, args)
	if err != nil {
		return nil, fmt.Errorf("the arguments cannot be encoded as JSON: %w", err)
	}
	return encoded, nil
}

const maxRounds = 100 // of questions of one call

// request makes the call, and answers its questions.
func (r *running) request(ctx context.Context, caller *mcp.Caller) error {
	ctx = call.WithApprover(ctx, r.approve)
	req := &mcp.CallRequest{Name: r.Target, Arguments: r.encoded, Caller: caller}
	answered := map[string]bool{}
	for range maxRounds {
		questions, err := r.send(ctx, req)
		if err != nil || questions == nil {
			return err
		}
		answers := map[string]any{}
		for _, q := range questions.Ask {
			answer, ok := r.Answers[q.Key]
			if !ok {
				return fmt.Errorf("the call asks the question %q, and the test has no answer. Write answer %[1]q "+
					"{ accept = { … } }, or decline = true", q.Key)
			}
			if answered[q.Key] {
				return fmt.Errorf("the question %q refuses the answer of the test, and is asked again. Write an "+
					"answer that its form accepts", q.Key)
			}
			answers[q.Key], answered[q.Key] = answer, true
		}
		encoded, err := value.AppendJSON(nil, answers)
		if err != nil {
			return fmt.Errorf("the answers cannot be encoded as JSON: %w", err)
		}
		req = &mcp.CallRequest{
			Name: r.Target, Arguments: r.encoded, Caller: caller, Answers: encoded, State: questions.State,
		}
	}
	return fmt.Errorf("the call asks more than %d questions one after the other", maxRounds)
}

// approve decides as the test says.
func (r *running) approve(context.Context, *approval.Request) (bool, approval.Decision, error) {
	r.out.approval = true
	if r.Approve == nil {
		return false, approval.Decision{}, failure.NotDone{Message: "This call needs an approval."}
	}
	return *r.Approve, approval.Decision{By: "test", At: time.Now()}, nil
}

// send sends the request once, and keeps its result. Questions come instead of a result.
func (r *running) send(ctx context.Context, req *mcp.CallRequest) (*mcp.Questions, error) {
	var document mcp.Document
	var err error
	switch r.Kind {
	case "tool":
		program, _ := r.generation.Program(r.Target)
		var out mcp.Outcome
		if out, err = program.RunToEnd(ctx, req, nil); err == nil {
			if out.Questions != nil {
				return out.Questions, nil
			}
			encoded := out.AppendResult(nil, mcp.Revision20260728)
			return nil, errors.Join(r.readFailures(out.Meta), r.readResult(encoded), r.readTokens())
		}
	case "prompt":
		document, err = r.generation.Prompt(ctx, req)
	default:
		document, err = r.generation.Read(ctx, req)
	}
	if err != nil {
		if !errors.As(err, &r.out.fault) {
			return nil, err
		}
		r.out.text = r.out.fault.Message
		return nil, nil
	}
	if document.Questions != nil {
		return document.Questions, nil
	}
	return nil, errors.Join(r.readFailures(document.Meta),
		r.readDocument(append(document.Members.AppendJSON([]byte{'{'}), '}')))
}

// deniedBy reports whether a rule that denies the call belongs to a policy, tool, prompt or resource of that name.
func (o *outcome) deniedBy(name string) bool {
	return slices.ContainsFunc(strings.Split(o.rule, ", "), func(rule string) bool {
		if rule == name {
			return true
		}
		_, owner, _ := strings.Cut(rule, ".")
		if i := strings.LastIndexByte(owner, '.'); i >= 0 {
			owner = owner[:i]
		}
		return owner == name
	})
}
