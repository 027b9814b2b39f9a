package call

import (
	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/limit"
)

// NewSearchProgram returns the program of a tool of a search block, which is bound to an action. It changes nothing:
// what an executor calls has a program of its own.
func NewSearchProgram(env *Environment, tool *hcl.Tool, limits []limit.Limit, action adapters.Action) *Program {
	p := NewProgram(env, tool, limits)
	p.hasEffects = false
	if tool.Name == hcl.FindTools {
		p.auditKind = "search"
	}
	p.AddStep(tool.Steps[0], action, nil, nil)
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
