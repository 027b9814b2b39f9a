package main

import (
	"encoding/json"
	"fmt"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/edge/mcp"
)

// readBackendAsk returns a question of another MCP server as that of an ask block.
func readBackendAsk(q mcp.Question) (*hcl.Ask, error) {
	ask := &hcl.Ask{Key: q.Key}
	if q.Method == "sampling/createMessage" {
		ask.Sample = new(hcl.Sample)
		return ask, nil
	}
	var params struct {
		URL  string          `json:"url"`
		Form json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(q.Params, &params); err != nil {
		return nil, err
	}
	ask.Elicit = &hcl.Elicit{ContinueOnDecline: true}
	if params.URL != "" {
		ask.Elicit.URL = new(hcl.RequestURL) // the question has the text
		return ask, nil
	}
	form, err := schema.ReadForm(params.Form)
	if err != nil {
		return nil, fmt.Errorf("the form of the question %q: %w", q.Key, err)
	}
	ask.Elicit.Fields, ask.Elicit.Validator = form, form.Compile()
	return ask, nil
}
