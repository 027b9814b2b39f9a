package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/policy"
	"hatchel/runtime/stage/result"
)

// Operation is one compiled operation: what the calls of tools, prompts, resources, skills and completions,
// and the before blocks of approvals, have in common. The compiler sets its fields; after that it is immutable but for
// Probed, and safe for concurrent use.
type Operation struct {
	Env    *Environment
	Kind   string // "tool", "prompt", "resource", "skill" or "completion"
	Decl   *hcl.Operation
	Steps  []*Step
	Rules  *policy.Rules // nil allows everybody
	Writer *result.Writer
	Probed atomic.Bool // the backends were asked whether the operation works

	AsksClient           bool      // a step, or an approval, asks the client
	AskRange             hcl.Range // of the first step that asks the client; else of the operation
	MayWait              bool      // a step may wait for people while it runs
	RequiredCapabilities []string  // of the client, also for the tools that steps call
	RequiredScopes       []string  // of the caller, also for the tools that steps call
	Missing              string    // what the server lacks, so that no step is bound; empty for nothing

	auditKind         string             // of the records of calls; empty for Kind
	meter             *metrics.Operation // nil where nothing is measured
	events            *event.Publisher   // nil where nothing reads events about the operation
	recent            *recent.Log        // nil where its calls are not kept for the console; else events is not nil
	errorText         *hcl.TextTemplate  // reports failures; nil for their own messages
	spanName          string             // of calls that are traced
	hasEffects        bool
	idempotent        bool // a tool whose author says that repeating it has no additional effect
	hasSensitiveInput bool
	takesFiles        bool
	identified        []identifiedStep
	masks             operationMasks
}

// Init makes the operation of a declaration, without its steps and rules.
func (o *Operation) Init(env *Environment, kind string, decl *hcl.Operation, errorText *hcl.TextTemplate) {
	o.Env, o.Kind, o.Decl, o.AskRange, o.errorText = env, kind, decl, decl.Range, errorText
	o.spanName = metrics.Methods[kind] + " " + decl.Name
	o.Writer = result.NewWriter(kind, decl, env.Scrubber)
	o.hasEffects = slices.ContainsFunc(decl.Steps, func(s *hcl.Step) bool { return !s.Backend.Effects.ReadOnly })
	o.hasSensitiveInput = result.HasSensitive(decl.Input)
	o.takesFiles = decl.Input.HoldsFile()
	if kind != "completion" && kind != "before" {
		o.meter, o.events = env.Metrics.Operation(kind, decl.Name), env.Events.For(o.requestKind(), decl.Name)
	}
	if kind == "tool" {
		o.recent = env.Recent
	}
}

// requestKind is what requests for the operation ask for, as events have it: a file of a skill is read as a resource.
func (o *Operation) requestKind() string {
	if o.Kind == "skill" {
		return "resource"
	}
	return o.Kind
}

// Repeats says what the author declares of the operation: it changes nothing, and repeating it has no additional
// effect. All operations but tools change nothing.
func (o *Operation) Repeats() (readOnly, idempotent bool) {
	readOnly = o.Kind != "tool" || !o.hasEffects
	return readOnly, readOnly || o.idempotent
}

// Label returns the kind and the name of the operation, for operators.
func (o *Operation) Label() string { return o.Kind + " " + o.Decl.Name }

// AddStep adds a step with the action that it is bound to, in order. Guards are those of its
// connection, nil for none. Meter counts what it does, nil for nothing.
func (o *Operation) AddStep(
	decl *hcl.Step, action adapters.Action, guards adapters.ConnectionGuards, meter *metrics.Backend,
) {
	block := "the " + decl.Backend.Kind + " block"
	if decl.Name != "" {
		block += fmt.Sprintf(" of the step %q", decl.Name)
	}
	s := &Step{Decl: decl, Action: action, operation: o, guards: guards, meter: meter, block: block,
		spanName: "step " + decl.Name}
	s.setNames()
	if conn := decl.Backend.Connection; conn != nil {
		s.connection = conn.Kind + "." + conn.Name
	}
	_, callsTool := action.(*toolCall) // what it changes is recorded where it does
	s.writes = o.Kind == "tool" && o.hasEffects && !decl.Backend.Effects.ReadOnly && !callsTool
	o.Steps = append(o.Steps, s)
	s.asker = s.mayAsk()
	o.MayWait = o.MayWait || s.asker
	if (s.asks() || s.asker) && !o.AsksClient {
		o.AsksClient, o.AskRange = true, decl.Range
	}
}

// CallsTools returns the tools that steps of the operation call.
func (o *Operation) CallsTools() (called []*Program) {
	for _, s := range o.Steps {
		if t, ok := s.Action.(*toolCall); ok {
			called = append(called, t.target)
		}
	}
	return called
}

// WritesLog reports whether texts of the operation may be logs, of its backends or of a tool that
// its steps call.
func (o *Operation) WritesLog() bool {
	isLog := func(s *Step) bool { return s.Decl.Backend.Effects.Log }
	writesLog := func(p *Program) bool { return p.WritesLog() }
	return slices.ContainsFunc(o.Steps, isLog) || slices.ContainsFunc(o.CallsTools(), writesLog)
}

// stepsRun returns the names of the steps that a part of a call has run: those from first on, and next unless the call
// continues there as a task. Outputs are those of the steps.
func (o *Operation) stepsRun(first, next int, outputs map[string]any, becomesTask bool) (names []string) {
	for i := first; i < len(o.Steps) && i <= next; i++ {
		s := o.Steps[i].Decl
		finished := i < next
		switch {
		case !finished && becomesTask, finished && s.When != nil && outputs[s.Name] == nil:
		case s.Name == "":
			names = append(names, s.Backend.Kind)
		default:
			names = append(names, s.Name)
		}
	}
	return names
}

// CheckScopes rejects a caller without the scopes that the operation requires. Without
// authentication nobody has scopes, and none are required.
func (o *Operation) CheckScopes(c *mcp.Caller) error {
	if len(o.RequiredScopes) == 0 || c.Identity == nil || len(c.Identity.MissingScopes(o.RequiredScopes)) == 0 {
		return nil
	}
	// A client may request a token with exactly these scopes.
	all := slices.Clone(c.Identity.BaseScopes)
	for _, scope := range o.RequiredScopes {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return mcp.InsufficientScope(all)
}

// inputs are the arguments of a call: as they came, as another tool computed them, or as texts.
type inputs struct {
	raw      []byte
	values   map[string]any
	texts    map[string]string
	err      error // why they could not be read; nil when they could
	admitted bool  // the call was admitted before, and has its inputs
}

const invalidArguments = "The arguments are not valid, and nothing was done:\n"

// unavailable is the answer of an operation that was refused at start.
const unavailable = "the %s %s is not available, because the server lacks %s. Calling it again does not help"

// unreadable returns why arguments are not read at all.
func (o *Operation) unreadable(in inputs) error {
	if o.Missing != "" {
		return failure.Refusal(fmt.Sprintf(unavailable, o.Kind, o.Decl.Name, o.Missing))
	}
	return in.err
}

// readInputs reads the arguments, and returns everything that is wrong with them.
func (o *Operation) readInputs(in inputs, budget *argumentBudget) (map[string]any, []schema.Violation, error) {
	switch {
	case in.texts != nil:
		return o.Decl.ParseTexts(in.texts, budget)
	case in.values == nil:
		return o.Decl.Validator.Arguments(in.raw, budget)
	}
	v, violations, err := o.Decl.Validator.Check(in.values, budget)
	input, _ := v.(map[string]any)
	return input, violations, err
}

// copiesInTask is how often a task has the text of its call: in its record, and in the row of that.
const copiesInTask = 2

// argumentBudget is what the arguments of a call may take. Its failure says which of the limits was reached.
type argumentBudget struct {
	frame   *hcl.Frame
	clock   *clock
	request *mcp.CallRequest
	inTask  int64 // bytes that the task takes which the call may become
}

// Reserve reserves the memory that the decoded arguments take, with that of the task that the call may become: later,
// when it becomes one, something may have been done.
func (b *argumentBudget) Reserve(bytes int64) error { return b.request.Reserve(bytes + b.inTask) }

// Step fails when the time of the call is over.
func (b *argumentBudget) Step(elements int) error {
	b.frame.Functions.Call = &b.clock.compute
	return b.frame.Functions.Step(elements)
}

// refuse returns the failure of arguments for which there is no memory, or no time, after which of the two it was, for
// metrics; empty for another error.
func (b *argumentBudget) refuse(err error) (refusedBy string, _ error) {
	if errors.Is(err, context.DeadlineExceeded) && b.frame.Context.Err() != context.Canceled {
		const format = "Checking the arguments took longer than the timeout of %s."
		return metrics.RefusedByArgument, failure.NotDone{
			Message: fmt.Sprintf(format, failure.FormatDuration(b.clock.timeout)),
			Advice:  "Send fewer or shorter values.",
		}
	}
	if b.clock.compute.Err() != nil {
		return "", b.clock.cause(err)
	}
	if large, ok := errors.AsType[*mcp.TooLargeError](err); ok {
		const format = "The arguments were not read, and nothing was done: %v. Send fewer values in one call."
		err = failure.Refusal(fmt.Sprintf(format, large))
	}
	return metrics.RefusedByMemory, err
}

// checkInputs evaluates the check blocks, and returns the messages of those that are false.
func (o *Operation) checkInputs(f *hcl.Frame) (failed []string, err error) {
	for _, check := range o.Decl.Checks {
		ok, err := check.That.Eval(f, nil)
		switch {
		case err != nil && len(failed) > 0: // it may depend on a check that failed
		case err != nil:
			return nil, err
		case !ok:
			failed = append(failed, failure.Render(check.Message, f))
		}
	}
	return failed, nil
}

const (
	maxTexts      = 1000 // arguments of a prompt that are read: it has fewer, so that the others are unknown
	maxWrongTexts = 20   // of them that are no texts
)

// kindOfJSON returns the kind of a scanned value with its article.
func kindOfJSON(text []byte) string {
	switch text[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a bool"
	case 'n':
		return "null"
	}
	return "a number"
}

// textArguments reads the arguments of a prompt, which are strings, without those that the server ignores.
func (o *Operation) textArguments(raw []byte) inputs {
	texts := map[string]string{}
	if len(raw) == 0 {
		return inputs{texts: texts}
	}
	var wrong []string
	err := jsonscan.Members(raw, value.MaxDepth, func(name, member []byte) bool {
		if o.Decl.Validator.Ignores(string(name), o.Env.Lenience) {
			return true
		}
		text, ok := jsonscan.Text(member)
		if !ok {
			const format = "- %s: the arguments of a prompt are strings, got %s"
			wrong = append(wrong, fmt.Sprintf(format, name, kindOfJSON(member)))
		}
		texts[string(name)] = text
		return len(wrong) < maxWrongTexts && len(texts) < maxTexts
	})
	if err != nil {
		text := "The arguments are not JSON: " + err.Error()
		return inputs{err: &mcp.Error{Code: mcp.CodeInvalidParams, Message: text}}
	}
	slices.Sort(wrong)
	if len(wrong) > 0 {
		text := invalidArguments + strings.Join(wrong, "\n")
		return inputs{err: &mcp.Error{Code: mcp.CodeInvalidParams, Message: text}}
	}
	return inputs{texts: texts}
}
