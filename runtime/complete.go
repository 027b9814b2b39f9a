package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
	"hatchel/runtime/result"
)

// completion looks up what an input can be completed by.
type completion struct {
	operation
	completion *hcl.Completion
}

// completable finds what takes the input that is to be completed; an error of the protocol when the view does not show it.
func (v *view) completable(req *mcp.CompleteRequest) (*operation, error) {
	switch req.Kind {
	case "tool":
		if p := v.tool(req.Name); p != nil {
			return &p.operation, nil
		}
		return nil, mcp.UnknownTool(req.Name)
	case "prompt":
		if p := v.prompt(req.Name); p != nil {
			return &p.operation, nil
		}
		return nil, mcp.UnknownPrompt(req.Name)
	}
	if r := v.resourceOrTemplate(req.Name); r != nil {
		return &r.operation, nil
	}
	return nil, mcp.UnknownResource(req.Name)
}

// complete serves one completion/complete of an input of of. An input of which nothing is said has no values, and neither has any for who may not call with these inputs;
// for who may never call it is not there.
func (g *Generation) complete(ctx context.Context, of *operation, req *mcp.CompleteRequest) (mcp.Completion, error) {
	w := of.decl
	if err := of.checkVisibleRequest(ctx, req.Caller, req.Name); err != nil {
		return mcp.Completion{}, err
	}
	if !of.mayComplete(ctx, req) {
		return mcp.Completion{}, nil
	}
	if _, known := w.Input.Lookup(req.Argument); !known {
		return mcp.Completion{}, &mcp.Error{Code: mcp.CodeInvalidParams, Message: "There is no such argument to complete. There are: " + strings.Join(w.Input.MemberNames(), ", ")}
	}
	said := w.Completion(req.Argument)
	if said == nil {
		return mcp.Completion{}, nil
	}
	values := said.Values
	if c, ok := g.completions[said]; ok {
		var err error
		if values, err = c.values(ctx, req); err != nil {
			return mcp.Completion{}, err
		}
	} else {
		values = filterPrefix(values, req.Value)
	}
	return mcp.Completion{Values: values, Total: len(values)}, nil
}

// filterPrefix are the values that begin with what was typed, in whatever case.
func filterPrefix(values []string, typed string) (out []string) {
	typed = strings.ToLower(typed)
	for _, v := range values {
		if strings.HasPrefix(strings.ToLower(v), typed) {
			out = append(out, v)
		}
	}
	return out
}

// values asks the backend, and returns each of its values once.
func (c *completion) values(ctx context.Context, req *mcp.CompleteRequest) (values []string, err error) {
	call := c.newCall(ctx, callerRoot(req.Caller), adapters.Nobody{})
	call.setCaller(req.Caller)
	defer call.result.Release()
	call.remoteAddr = req.Caller.Remote
	values, err = c.lookup(call, c.knownInputs(req))
	failed := failure.Of(err)
	call.logOutcome(ctx, failed)
	if failed != nil {
		return nil, call.protocolError(failed)
	}
	for i, v := range values {
		values[i] = c.generation.scrubber.Text(v)
	}
	return values, nil
}

// mayComplete reports whether the caller may call, as far as that can be told by what is filled in already: what the rule reads and is not there yet is null.
func (r *operation) mayComplete(ctx context.Context, req *mcp.CompleteRequest) bool {
	if r.checkScopes(req.Caller) != nil {
		return false
	}
	if r.rules == nil {
		return true
	}
	c := r.newCall(ctx, callerRoot(req.Caller), adapters.Nobody{})
	c.setCaller(req.Caller)
	defer c.result.Release()
	c.frame.Input = r.decl.ParsePartial(r.knownInputs(req))
	return r.rules.Decide(&policy.Evaluation{Frame: c.frame, Partial: true}).Verdict == policy.Allowed
}

// knownInputs are the inputs as texts: what was typed, and what is filled in already.
func (r *operation) knownInputs(req *mcp.CompleteRequest) map[string]string {
	given := map[string]string{}
	if v, err := value.Decode(req.Context); err == nil {
		m, _ := v.(map[string]any)
		for name, v := range m {
			text, ok := v.(string)
			if _, known := r.decl.Input.Lookup(name); ok && known {
				given[name] = text
			}
		}
	}
	given[req.Argument] = req.Value
	return given
}

func (c *completion) lookup(call *call, given map[string]string) (values []string, err error) {
	defer failure.Recover(&err)
	if err := c.run(call, inputs{texts: given}); err != nil {
		return nil, err
	}
	found, err := c.evalValues(call.frame)
	if err == nil {
		values, err = textList(found)
	}
	if err != nil {
		return nil, call.evalError(err)
	}
	return values, nil
}

// evalValues is what the author or else the backend answers with.
func (c *completion) evalValues(f *hcl.Frame) (any, error) {
	if c.completion.Result != nil {
		return c.completion.Result.Eval(f, f.Output)
	}
	m, err := result.Members(f.Output)
	if err != nil {
		return nil, err
	}
	d := c.decl.Steps[0].Backend.Effects.Default
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

func nonEmptyLines(text string) []any {
	var list []any
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// textList are the elements of a list, each once: of rows their first column. An element that is null is left out.
func textList(found any) (texts []string, err error) {
	column := ""
	if d, ok := found.(value.Deferred); ok {
		column = firstKey(d.AppendJSON(nil))
	}
	if found, err = value.Resolve(found); err != nil || found == nil {
		return nil, err
	}
	list, ok := found.([]any)
	if !ok {
		return nil, &adapters.Fault{Message: "a completion is a list of texts, and this is a " + value.Kind(found)}
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

// firstColumn is the first column of a row: by the order in which columns were asked for where that is at hand, else by name.
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

// firstKey is the first key of the first object of a list, as it is written; empty when there is none.
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
