package served

import (
	"context"
	"fmt"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/tokens"
	"hatchel/internal/toolsearch"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/policy"
)

// search finds and calls the tools of a view whose toolset has a search block. It is immutable.
type search struct {
	view     *View
	decl     *hcl.Search
	programs map[string]*call.Program // of the tools that the block adds
	found    []definition             // what can be found, by name
	index    *toolsearch.Index        // of found
	names    *mcp.List                // of all tools of the view, without their definitions
	filter   *policy.ListFilter       // of names; nil hides nothing
}

// definition is a tool as the answer of a search has it.
type definition struct {
	name        string
	full, short []byte // one line each; short has no schema
	tokens      int    // of full, estimated
}

// maxFoundTokens is how many tokens the answer of a search takes, but for a tool that is asked for by its name.
const maxFoundTokens = 4000

// newSearch returns the search of a view, whose tools have these rules.
func newSearch(v *View, t *hcl.Toolset, rules map[string]*policy.Rules) *search {
	s := &search{view: v, decl: t.Search, programs: map[string]*call.Program{}}
	s.filter = policy.NewListFilter(rules, v.served.logRuleError)
	var reached []*hcl.Tool
	var indexed []toolsearch.Tool
	var names []mcp.Entry
	for _, p := range v.served.Sorted {
		tool := p.Tool()
		if v.Tools[tool.Name] == nil || p.Missing != "" {
			continue
		}
		names = append(names, mcp.Entry{Name: tool.Name})
		if isReached(p) {
			reached = append(reached, tool)
			s.found, indexed = append(s.found, newDefinition(tool)), append(indexed, indexedTool(tool))
		}
	}
	s.names = mcp.NewList(mcp.Tools, names, mcp.ListOptions{})
	s.index = toolsearch.New(indexed)
	for _, tool := range t.SearchTools(reached) {
		if tool.Name == hcl.FindTools {
			s.programs[tool.Name] = call.NewFinder(v.served.Env, v.served.Config, tool, s.find)
			continue
		}
		refuse := func(f *hcl.Frame) string { return s.refuse(f, tool.Name) }
		s.programs[tool.Name] = call.NewExecutor(v.served.Env, tool, refuse)
	}
	return s
}

// isReached reports whether a tool is called by executors: the headers of one with header inputs would be missing.
func isReached(p *call.Program) bool { return len(p.HeaderInputs()) == 0 }

func newDefinition(t *hcl.Tool) definition {
	head := value.AppendString([]byte(`{"name":`), t.Name)
	short := append(value.AppendString(append(head[:len(head):len(head)], `,"description":`...), t.Description), '}')
	full := mcp.AppendMember(head, "title", t.Title)
	full = value.AppendString(append(full, `,"description":`...), t.Description)
	full = t.Input.AppendSchema(append(full, `,"inputSchema":`...))
	full = append(appendToolAnnotations(full, t), '}')
	return definition{t.Name, full, short, tokens.Estimate(string(full))}
}

// indexedTool returns what a search looks at of a tool.
func indexedTool(t *hcl.Tool) toolsearch.Tool {
	return toolsearch.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, Hint: t.SearchHint(),
		Inputs: appendIndexed(nil, t.Input, 0),
	}
}

// maxIndexedDepth is how deep the members of inputs are looked at.
const maxIndexedDepth = 3

// appendIndexed appends the members of a type, and theirs.
func appendIndexed(dst []toolsearch.Input, t *schema.Type, depth int) []toolsearch.Input {
	for _, m := range t.Members {
		one := toolsearch.Input{Name: m.Name, Description: m.Type.Description}
		inner := m.Type
		for inner.Elem != nil {
			inner = inner.Elem
		}
		for _, e := range inner.Enum {
			if text, ok := e.Value.(string); ok {
				one.Values = append(one.Values, text)
			}
			if e.Title != "" {
				one.Values = append(one.Values, e.Title)
			}
		}
		if dst = append(dst, one); depth < maxIndexedDepth {
			dst = appendIndexed(dst, inner, depth+1)
		}
	}
	return dst
}

// Program returns the program that a call runs; nil for an unknown tool. The request of a tool that an executor is
// asked to call takes the place of the request of the executor, so that nothing after this knows the executor but by
// its name in req.Via.
func (v *View) Program(req *mcp.CallRequest) *call.Program {
	if v.search == nil {
		return v.Tools[req.Name]
	}
	own := v.search.programs[req.Name]
	if own == nil {
		return v.Tools[req.Name]
	}
	if req.Name == hcl.FindTools {
		return own
	}
	name, arguments, ok := own.Unwrap(req)
	inner := v.Tools[name]
	if !ok || inner == nil || refusesCall(req.Name, inner) != "" {
		return own // which refuses the call
	}
	req.Name, req.Arguments, req.Via = name, arguments, req.Name
	return inner
}

// refusesCall returns why an executor does not call a tool, which the caller may know of; empty if it does.
func refusesCall(executor string, p *call.Program) string {
	name := p.Decl.Name
	switch {
	case !isReached(p):
		return fmt.Sprintf("%s has arguments that are repeated in headers, so it must be called by its own name.", name)
	case executor == hcl.ReadTool && !p.Tool().ReadOnly:
		return fmt.Sprintf("%s calls tools that only read; %s changes something. Use %s.", executor, name, hcl.CallTool)
	}
	return ""
}

// Answer returns the outcome of a call of what Program has returned.
func (v *View) Answer(req *mcp.CallRequest, out mcp.Outcome, err error) (mcp.Outcome, error) {
	if req.Via != "" && mcp.IsUnknown(err) {
		return mcp.Outcome{Content: mcp.Text(noSuchTool(req.Name)), IsError: true}, nil
	}
	return out, err
}

// noSuchTool is the answer of an executor about a tool that does not exist, or that the caller may not know of.
func noSuchTool(name string) string {
	quoted := jsonscan.AppendString(nil, jsonscan.Excerpt(name))
	return fmt.Sprintf("There is no tool %s. Call %s first.", quoted, hcl.FindTools)
}

// refuse returns why an executor does not make the call that the inputs of a frame hold.
func (s *search) refuse(f *hcl.Frame, executor string) string {
	name, _ := f.Input["name"].(string)
	if p := s.view.Tools[name]; p != nil && s.visible(f.Context, f).Has(name) {
		return refusesCall(executor, p)
	}
	return noSuchTool(name)
}

// visible returns the names of the tools that the caller of a frame may know of.
func (s *search) visible(ctx context.Context, of *hcl.Frame) *mcp.List {
	if s.filter == nil {
		return s.names
	}
	frame := hcl.NewFrame(ctx, s.view.served.Env.Dir, s.view.served.Env.Now)
	frame.Caller = of.Caller
	return s.filter.Filter(ctx, frame, s.names)
}

// listFor returns a list of the view without CallTool, if the caller of a frame sees no tool that it is for.
func (s *search) listFor(ctx context.Context, frame *hcl.Frame, list *mcp.List) *mcp.List {
	if s.programs[hcl.CallTool] == nil {
		return list
	}
	for _, name := range s.visible(ctx, frame).Names() {
		if p := s.view.Tools[name]; isReached(p) && !p.Tool().ReadOnly {
			return list
		}
	}
	names := list.Names()
	return list.Only(func(i int) bool { return names[i] != hcl.CallTool })
}

// entries returns the list of tools: those that are pinned, and those of the block.
func (s *search) entries() (entries []mcp.Entry) {
	for _, name := range s.decl.Pinned {
		if p := s.view.Tools[name]; p != nil && p.Missing == "" {
			app := s.view.served.Apps[name]
			entries = append(entries, entryOf(p.Tool(), p.Shaper.OutputType(), addAlwaysLoad(metaOf(p.Tool(), app))))
		}
	}
	for _, p := range s.programs {
		entries = append(entries, entryOf(p.Tool(), nil, p.Tool().Meta))
	}
	return entries
}

// addAlwaysLoad returns metadata, which may be nil, with the member that has clients give a tool to their model. What
// an author says of it holds.
func addAlwaysLoad(meta []byte) []byte {
	if _, declared := jsonscan.Lookup(meta, hcl.AlwaysLoad); declared {
		return meta
	}
	dst := []byte{'{'}
	if len(meta) > len("{}") {
		dst = append(append([]byte(nil), meta[:len(meta)-1]...), ',')
	}
	return append(dst, `"`+hcl.AlwaysLoad+`":true}`...)
}

// isVisible returns whether the caller of a frame may know of a tool that can be found, by its index; nil for all.
func (s *search) isVisible(ctx context.Context, frame *hcl.Frame) func(int) bool {
	list := s.visible(ctx, frame)
	if list == s.names {
		return nil
	}
	return func(i int) bool { return list.Has(s.found[i].name) }
}

// Found is a tool that a search has found. Scores are comparable within one answer.
type Found struct {
	Name  string
	Score float64
}

// Search returns at most limit tools that a query finds for a caller, best first. The toolset of the view has a search
// block.
func (v *View) Search(ctx context.Context, caller *mcp.Caller, query string, limit int) (found []Found) {
	frame := &hcl.Frame{Caller: call.CallerRoot(caller)}
	for _, m := range v.search.index.Scored(query, v.search.isVisible(ctx, frame), limit) {
		found = append(found, Found{v.search.found[m.Tool].name, m.Score})
	}
	return found
}

// find returns what answers a query of the caller of a frame.
func (s *search) find(f *hcl.Frame, query string, limit int) (text string, names []any, err error) {
	if err := toolsearch.Check(query); err != nil {
		return "", nil, err
	}
	found := s.index.Find(query, s.isVisible(f.Context, f), limit)
	for _, i := range found {
		names = append(names, s.found[i].name)
	}
	return s.answer(query, found), names, nil
}

// answer returns the tools that were found, one a line, with their schemas as long as these fit.
func (s *search) answer(query string, found []int) string {
	if len(found) == 0 {
		return fmt.Sprintf("No tool matches. Areas: %s Try other words, or one word.", s.decl.Sentence())
	}
	var b strings.Builder
	left, full := maxFoundTokens, true
	for n, i := range found {
		d := &s.found[i]
		asked := n == 0 && strings.TrimSpace(query) == d.name
		line := d.full
		if full = full && (d.tokens <= left || asked); !full {
			if line = d.short; tokens.Estimate(string(line)) > left {
				break
			}
		}
		left -= tokens.Estimate(string(line))
		b.Write(line)
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
