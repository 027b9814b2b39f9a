package call

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/policy"
	"hatchel/runtime/stage/result"
)

// Completion looks up values for an input.
type Completion struct {
	Operation
	completion *hcl.Completion
}

// NewCompletion returns a completion without its steps.
func NewCompletion(env *Environment, decl *hcl.Completion) *Completion {
	c := &Completion{completion: decl}
	c.Init(env, "completion", &decl.Operation, nil)
	return c
}

// Complete serves one completion/complete of an input of the operation. Lookup returns what
// completes an input from a backend. An input without a completion has no values, and neither has
// any input for a caller who may not call with what is filled in; for a caller who may never call,
// the operation does not exist.
func (o *Operation) Complete(
	ctx context.Context, req *mcp.CompleteRequest, lookup func(*hcl.Completion) *Completion,
) (mcp.Completion, error) {
	if err := o.checkVisibleRequest(ctx, req.Caller, req.Name); err != nil {
		return mcp.Completion{}, err
	}
	if !o.mayComplete(ctx, req) {
		return mcp.Completion{}, nil
	}
	if _, known := o.Decl.Input.Lookup(req.Argument); !known {
		text := "There is no such argument to complete. The arguments are: " +
			strings.Join(o.Decl.Input.MemberNames(), ", ")
		return mcp.Completion{}, &mcp.Error{Code: mcp.CodeInvalidParams, Message: text}
	}
	decl := o.Decl.Completion(req.Argument)
	if decl == nil {
		return mcp.Completion{}, nil
	}
	values := decl.Values
	if c := lookup(decl); c != nil {
		var err error
		if values, err = c.values(ctx, req); err != nil {
			return mcp.Completion{}, err
		}
	} else {
		values = filterPrefix(values, req.Value)
	}
	return mcp.Completion{Values: values, Total: len(values)}, nil
}

// filterPrefix returns the values that begin with a prefix, ignoring case.
func filterPrefix(values []string, prefix string) (out []string) {
	prefix = strings.ToLower(prefix)
	for _, v := range values {
		if strings.HasPrefix(strings.ToLower(v), prefix) {
			out = append(out, v)
		}
	}
	return out
}

// mayComplete reports whether the caller may call, as far as that can be decided by what is filled
// in: inputs that are missing are null for the rules.
func (o *Operation) mayComplete(ctx context.Context, req *mcp.CompleteRequest) bool {
	if o.CheckScopes(req.Caller) != nil {
		return false
	}
	if o.Rules == nil {
		return true
	}
	c := o.newCallOf(ctx, req.Caller, adapters.NopClient{})
	defer c.result.Release()
	var err error
	if c.frame.Input, err = o.Decl.ParsePartial(o.knownInputs(req), c.newBudget()); err != nil {
		return false
	}
	return o.Rules.Decide(&policy.Evaluation{Frame: c.frame, Partial: true}).Verdict == policy.Allowed
}

// knownInputs returns the inputs that are filled in, with what was typed.
func (o *Operation) knownInputs(req *mcp.CompleteRequest) map[string]string {
	known := map[string]string{}
	jsonscan.Members(req.Context, value.MaxDepth, func(name, member []byte) bool { // the server has checked it
		if _, exists := o.Decl.Input.Lookup(string(name)); exists {
			if text, ok := jsonscan.Text(member); ok {
				known[string(name)] = text
			}
		}
		return true
	})
	known[req.Argument] = req.Value
	return known
}

// values returns the values from the backend, each once.
func (l *Completion) values(ctx context.Context, req *mcp.CompleteRequest) (values []string, err error) {
	c := l.newCallOf(ctx, req.Caller, adapters.NopClient{})
	defer c.result.Release()
	c.setTrace(l.continueTrace(ctx, req.Caller, req.Meta, c.frame, &c.trace))
	err = failure.Try(func() (err error) {
		if err = c.run(inputs{texts: l.knownInputs(req)}); err != nil {
			return err
		}
		if values, err = l.lookup(c.frame); err != nil {
			return c.clock.evalError(err)
		}
		return nil
	})
	failed := c.failed(err)
	end := c.ending(ctx, failed, "")
	end.log(ctx)
	end.endSpan()
	if failed != nil {
		return nil, c.failureWriter().protocolError(failed)
	}
	safe := result.NewRedactor(l.Env.Scrubber, c.frame.Detect)
	for i, v := range values {
		values[i] = safe.Text(v)
	}
	return values, nil
}

// lookup returns the values that the steps have found.
func (l *Completion) lookup(f *hcl.Frame) ([]string, error) {
	list, err := l.evalValues(f)
	if err != nil {
		return nil, err
	}
	return textList(list)
}

// evalValues returns the declared result of the completion, or else the default result of its
// backend.
func (l *Completion) evalValues(f *hcl.Frame) (any, error) {
	if l.completion.Result != nil {
		return l.completion.Result.Eval(f, f.Output)
	}
	m, err := result.Members(f.Output)
	if err != nil {
		return nil, err
	}
	d := l.Decl.Steps[0].Backend.Effects.Default
	if d.Text != "" {
		text, err := result.AppendText(nil, m[d.Text])
		return nonEmptyLines(string(text)), err
	}
	if d.Member != "" {
		return m[d.Member], nil
	}
	var list []any
	for _, name := range d.Members {
		list = append(list, m[name])
	}
	return list, nil
}

func nonEmptyLines(text string) (lines []any) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// textList returns the elements of a list as texts, each once and without nulls; of rows their
// first column.
func textList(found any) (texts []string, err error) {
	column := ""
	if d, ok := found.(value.LazyJSON); ok {
		column = firstKey(d.AppendJSON(nil))
	}
	if found, err = value.Resolve(found); err != nil || found == nil {
		return nil, err
	}
	list, ok := found.([]any)
	if !ok {
		return nil, &adapters.Fault{Message: "a completion must be a list of texts, got a " + value.Kind(found)}
	}
	known := map[string]bool{}
	for _, v := range list {
		if v, err = value.Resolve(v); err != nil {
			return nil, err
		}
		if row, ok := v.(map[string]any); ok {
			v = firstColumn(row, column)
		}
		if v == nil {
			continue
		}
		text, err := value.Text(v)
		if err != nil {
			return nil, err
		}
		if !known[text] {
			known[text] = true
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// firstColumn returns the first column of a row: the one that the query has first where that is
// known, else the first by name.
func firstColumn(row map[string]any, column string) any {
	if v, ok := row[column]; ok {
		return v
	}
	names := value.Keys(row)
	if len(names) == 0 {
		return nil
	}
	return row[names[0]]
}

// firstKey returns the first key of the first object of an encoded list; empty for none.
func firstKey(list []byte) string {
	d := json.NewDecoder(bytes.NewReader(list))
	for _, want := range []json.Delim{'[', '{'} {
		if t, err := d.Token(); err != nil || t != want {
			return ""
		}
	}
	t, _ := d.Token()
	key, _ := t.(string)
	return key
}
