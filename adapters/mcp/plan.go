package mcp

import (
	"fmt"

	"hatchel/adapters"
)

// Plan implements adapters.Planner. It returns the tool of the server and the arguments.
func (a *action) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	values, err := a.evalArguments(call)
	var arguments []byte
	if err == nil {
		arguments, err = encodeArguments(values)
	}
	if err != nil {
		return nil, &adapters.Fault{Message: err.Error(), NotSent: true}
	}
	shown := adapters.PlanText(arguments, len(arguments))
	text := fmt.Sprintf("tools/call %s at %s\n%s\n", a.Call, a.server.name, shown)
	return adapters.PlanEffects("mcp", a.server.name, text), nil
}
