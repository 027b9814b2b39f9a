package tester

import (
	"context"
	"fmt"
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/spelling"
	"hatchel/hcl/syntax"
	"hatchel/hcl/testblock"
	"hatchel/runtime/toolstest"
)

const maxDraftedMocks = 20

// Draft returns a test of a tool: with arguments that its types accept, the mocks that the call asks for, and what
// comes of it. The error is for the author.
func (s *Suite) Draft(ctx context.Context, name string) (string, error) {
	if s.base.diags.HasErrors() {
		return "", errNotLoaded
	}
	var tool *hcl.Tool
	var names []string
	for _, t := range s.base.config.Tools {
		if names = append(names, t.Name); t.Name == name {
			tool = t
		}
	}
	if tool == nil {
		hint := ""
		if near := spelling.Nearest(name, names); near != "" {
			hint = fmt.Sprintf(". Did you mean %q?", near)
		}
		return "", fmt.Errorf("there is no tool %q%s", name, hint)
	}
	draft := &toolstest.Draft{Name: name, Tool: name, Args: toolstest.Arguments(tool.Input)}
	for range maxDraftedMocks {
		missing, err := s.tryDraft(ctx, draft)
		if err != nil {
			return "", err
		}
		if missing == "" || slices.Contains(draft.Mocks, missing) {
			break
		}
		draft.Mocks = append(draft.Mocks, missing)
	}
	return draft.Text(), nil
}

// tryDraft makes the call of a draft, and sets what it expects. It returns the mock that was missing.
func (s *Suite) tryDraft(ctx context.Context, draft *toolstest.Draft) (missing string, err error) {
	draft.Expect = nil
	text := []byte(draft.Text())
	body, diags := syntax.Parse("draft.test.hcl", text)
	if diags.HasErrors() || len(body.Blocks) != 1 {
		return "", fmt.Errorf("the draft cannot be read: %v", diags)
	}
	tests, diags := testblock.Decode(s.base.config, []hcl.TestBlock{{Block: body.Blocks[0], Src: text}})
	if diags.HasErrors() {
		return "", nil // arguments that no type describes, which the author completes
	}
	r := &running{Case: &Case{tests[0], s.base.config}}
	r.mocks = s.newMocks(r.Case)
	defer r.mocks.Close()
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := r.makeCall(ctx, s, newBranches()); err != nil {
		return "", nil // such as a question, whose answer the author writes
	}
	for _, p := range r.mocks.Problems() {
		if p.Mock != "" {
			return p.Mock, nil
		}
	}
	switch out := &r.out; {
	case out.approval:
		draft.Expect = map[string]any{"approval": true}
	case out.rule != "":
		draft.Expect = map[string]any{"denied": out.rule}
	case out.failed:
		draft.Expect = map[string]any{"error": out.text}
	case out.fault != nil:
		draft.Expect = map[string]any{"fault": out.fault.Code}
	case out.hasValue:
		draft.Expect = map[string]any{"result": out.result}
	default:
		draft.Expect = map[string]any{"text": out.text}
	}
	return "", nil
}
