package hcl

import (
	"slices"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// The tools that a search block adds: one finds tools, the others call what was found. Clients decide by annotations
// what runs without a question, so reading has a tool of its own.
const (
	FindTools = "find_tools"
	ReadTool  = "read_tool"
	CallTool  = "call_tool"
)

var searchToolNames = []string{FindTools, ReadTool, CallTool}

// SearchBackend is the backend of a tool of a search block.
type SearchBackend struct{}

// MaxSearchQuery is the maximum size of a query in bytes.
const MaxSearchQuery = 256

// SearchTools returns the tools that the search block of the toolset adds, for the tools that it reaches: FindTools,
// ReadTool and, if one of these changes something, CallTool.
func (t *Toolset) SearchTools(reached []*Tool) []*Tool {
	openWorld := func(tool *Tool) bool { return tool.OpenWorld }
	reads, writes := []*Tool(nil), []*Tool(nil)
	for _, tool := range reached {
		if tool.ReadOnly {
			reads = append(reads, tool)
		} else {
			writes = append(writes, tool)
		}
	}
	tools := []*Tool{newFindTools(t.Search), newExecutor(ReadTool, "Call a tool that only reads",
		"Call a tool that find_tools found and that only reads (readOnlyHint true).", t.Search.Range)}
	read := tools[1]
	read.ReadOnly, read.Idempotent, read.OpenWorld = true, true, slices.ContainsFunc(reads, openWorld)
	if len(writes) == 0 {
		return tools
	}
	call := newExecutor(CallTool, "Call a tool",
		"Call a tool that find_tools found and that changes something (readOnlyHint false).", t.Search.Range)
	call.Destructive = slices.ContainsFunc(writes, func(tool *Tool) bool { return tool.Destructive })
	call.Idempotent = !slices.ContainsFunc(writes, func(tool *Tool) bool { return !tool.Idempotent })
	call.OpenWorld = slices.ContainsFunc(reached, openWorld)
	return append(tools, call)
}

func newFindTools(s *Search) *Tool {
	shortest, longest := 1, MaxSearchQuery
	t := newSearchTool(FindTools, s.Range, schema.ObjectOf(
		&schema.Member{Name: "query", Type: &schema.Type{
			Kind: schema.String, MinLength: &shortest, MaxLength: &longest,
			Description: "Words that say what the tool does, in the language of its description.",
		}},
		&schema.Member{Name: "limit", Optional: true, HasDefault: true, Default: s.Results,
			Type: &schema.Type{Kind: schema.Integer, Min: 1, Max: MaxSearchResults}},
	))
	t.Title, t.ReadOnly, t.Idempotent = "Find tools", true, true
	t.Description = "Find tools by what they do. This server has more tools than are listed. Areas: " + s.Sentence() +
		" Each line of the answer is a tool. For a tool without inputSchema, search for its name."
	return t
}

func newExecutor(name, title, description string, at Range) *Tool {
	t := newSearchTool(name, at, schema.ObjectOf(
		&schema.Member{Name: "name", Type: &schema.Type{Kind: schema.String, Description: "The name of the tool."}},
		&schema.Member{Name: "arguments", Optional: true, Type: &schema.Type{
			Kind: schema.Map, Elem: eval.AnyType, Sensitive: true, // some may be, and which is the tool's to say
			Description: "Its arguments, as its inputSchema has them.",
		}},
	))
	t.Title, t.Description = title, description
	return t
}

func newSearchTool(name string, at Range, input *schema.Type) *Tool {
	backend := &Backend{Kind: "search", Config: &SearchBackend{}, Range: at, ranges: map[any]Range{}}
	backend.Effects = Effects{
		Output: schema.ObjectOf(
			&schema.Member{Name: "text", Type: eval.StringType},
			&schema.Member{Name: "names", Type: schema.ListOf(eval.StringType)},
		),
		Default:  DefaultResult{Text: "text"},
		ReadOnly: true, Idempotent: true,
	}
	return &Tool{
		Operation: Operation{Name: name, Timeout: defaultTimeout, MaxText: defaultMaxText, Input: input,
			Validator: input.Compile(), Steps: []*Step{{Backend: backend, Parallel: 1, Range: at}},
			Digest: eval.HashParts(name), Reads: &eval.Reads{}, Range: at},
		Listed: true, BuiltIn: true, Meta: []byte(`{"` + AlwaysLoad + `":true}`),
	}
}

// AlwaysLoad is the member of the metadata of a tool that has clients give it to their model in any case.
const AlwaysLoad = "anthropic/alwaysLoad"
