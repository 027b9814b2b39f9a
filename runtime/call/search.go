package call

import (
	"context"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/limit"
)

// Find returns the text that answers a query of the caller of a frame, with the names of the tools that it has. Its
// error is for the caller.
type Find func(f *hcl.Frame, query string, limit int) (text string, names []any, err error)

// NewFinder returns the program of the tool that finds tools. It counts in the limit of the server.
func NewFinder(env *Environment, c *hcl.Config, tool *hcl.Tool, find Find) *Program {
	p := NewProgram(env, tool, limit.Of(c, tool))
	p.auditKind = "search"
	p.AddStep(tool.Steps[0], find, nil, nil)
	return p
}

// Do implements adapters.Action.
func (find Find) Do(_ context.Context, c *adapters.Call) (any, error) {
	query, _ := c.Frame.Input["query"].(string)
	most, _ := c.Frame.Input["limit"].(int)
	text, names, err := find(c.Frame, query, most)
	if err != nil {
		return nil, &adapters.Fault{Message: err.Error()}
	}
	return map[string]any{"text": text, "names": names}, nil
}

// NewExecutor returns the program of a tool that calls other tools. It refuses every call: one that it does not refuse
// is that of the other tool, see Unwrap. Refuse returns why the inputs of a frame are refused, for its caller.
func NewExecutor(env *Environment, tool *hcl.Tool, refuse func(*hcl.Frame) string) *Program {
	p := NewProgram(env, tool, nil)
	p.hasEffects, p.refuse = false, refuse
	return p
}

// Unwrap returns the request that a call of an executor holds: the name of a tool and its arguments. It reports false
// for arguments that hold none, which the executor refuses when it is called.
func (p *Program) Unwrap(req *mcp.CallRequest) (name string, arguments []byte, ok bool) {
	raw, err := p.Decl.Validator.Accept(req.Arguments, p.Env.Lenience, requestBudget{req})
	if err != nil {
		return "", nil, false
	}
	arguments, ok = []byte("{}"), true
	err = jsonscan.Members(raw, len(raw), func(member, value []byte) bool {
		switch string(member) {
		case "name":
			name, ok = jsonscan.Text(value)
		case "arguments":
			if string(value) != "null" {
				arguments, ok = value, mcp.IsObject(value)
			}
		default:
			ok = false
		}
		return ok
	})
	return name, arguments, ok && err == nil && name != ""
}

// requestBudget is the budget of work that takes time in proportion to the size of a request.
type requestBudget struct{ request *mcp.CallRequest }

func (b requestBudget) Reserve(bytes int64) error { return b.request.Reserve(bytes) }

func (requestBudget) Step(int) error { return nil }

// foundNames returns the names in the output of a search.
func foundNames(output any) (names []string) {
	m, _ := output.(map[string]any)
	list, _ := m["names"].([]any)
	for _, name := range list {
		text, _ := name.(string)
		names = append(names, text)
	}
	return names
}
