package test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
	"hatchel/hcl/syntax"
	"hatchel/runtime/load/access"
)

const maxDraftedMocks = 20

// Draft returns a test of a tool: with arguments that its types accept, a caller who has what its connections need, the
// mocks that the call asks for, and what comes of it. There are no errors among the DraftDiagnostics. The error is for
// the author.
func (s *Suite) Draft(ctx context.Context, name string) (string, error) {
	tool := s.findTool(name)
	if tool == nil {
		hint, names := "", make([]string, len(s.base.config.Tools))
		for i, t := range s.base.config.Tools {
			names[i] = t.Name
		}
		if near := spelling.Nearest(name, names); near != "" {
			hint = fmt.Sprintf(". Did you mean %q?", near)
		}
		return "", fmt.Errorf("there is no tool %q%s", name, hint)
	}
	draft := &draftedTest{
		Name: name, Tool: name, Args: Arguments(tool.Input, s.findFile), Answers: draftAnswers(tool),
		Caller: access.NewIdentities(s.base.config).SampleCaller(&tool.Operation),
	}
	if err := s.completeDraft(ctx, draft); err != nil {
		return "", err
	}
	if draft.Expect["denied"] != nil {
		s.admitCaller(ctx, draft)
	}
	return draft.Text(), nil
}

// findTool returns a tool, or nil.
func (s *Suite) findTool(name string) *hcl.Tool {
	for _, t := range s.base.config.Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// completeDraft adds the mocks that the call of a draft asks for, and what comes of it.
func (s *Suite) completeDraft(ctx context.Context, draft *draftedTest) error {
	for range maxDraftedMocks {
		missing, err := s.tryDraft(ctx, draft)
		if err != nil || missing == "" || slices.Contains(draft.Mocks, missing) {
			return err
		}
		draft.Mocks = append(draft.Mocks, missing)
	}
	return nil
}

// admitCaller adds the first of the callers that the configuration knows who may make the call of a draft, if there is
// one.
func (s *Suite) admitCaller(ctx context.Context, draft *draftedTest) {
	for _, c := range access.Callers(s.base.config, nil) {
		as := *draft
		as.Caller = map[string]any{"subject": "eva"}
		maps.Copy(as.Caller, draft.Caller)
		if _, name, ok := strings.Cut(c.Name, " "); ok && len(c.Groups) == 0 && name != "group" {
			as.Caller["subject"] = name
		}
		if len(c.Groups) > 0 {
			as.Caller["groups"] = anyList(c.Groups)
		}
		if len(c.Scopes) > 0 {
			as.Caller["scopes"] = anyList(c.Scopes)
		}
		if err := s.completeDraft(ctx, &as); err == nil && as.Expect["denied"] == nil {
			*draft = as
			return
		}
	}
}

// draftAnswers returns answers to the questions of a tool.
func draftAnswers(tool *hcl.Tool) (answers []draftedAnswer) {
	for _, step := range tool.Steps {
		group, ok := step.Backend.Config.(*hcl.AskGroup)
		if !ok {
			continue
		}
		for _, ask := range group.Asks {
			a := draftedAnswer{Question: ask.Key, Argument: "accept", Value: map[string]any{}}
			switch {
			case ask.Sample != nil:
				a.Argument, a.Value = "text", "text"
			case ask.Roots != nil:
				a.Argument, a.Value = "roots", []any{"file:///work"}
			case ask.Elicit.Fields != nil:
				a.Value = Arguments(ask.Elicit.Fields, nil)
			}
			answers = append(answers, a)
		}
	}
	return answers
}

const maxFilesRead = 10_000 // to find one for a draft

// findFile returns the first file of the directory with one of these media types, or with any if there are none.
func (s *Suite) findFile(mediaTypes []string) string {
	found := "document.txt"
	read := 0
	fs.WalkDir(os.DirFS(s.Dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch read++; {
		case read > maxFilesRead:
			return fs.SkipAll
		case err == nil && d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case err != nil || !d.Type().IsRegular():
			return nil
		}
		kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
		if kind == "" || !schema.MediaAllowed(mediaTypes, kind, kind) {
			return nil
		}
		found = name
		return fs.SkipAll
	})
	return found
}

// tryDraft makes the call of a draft, and sets what it expects. It returns the mock that was missing.
func (s *Suite) tryDraft(ctx context.Context, draft *draftedTest) (missing string, err error) {
	draft.Expect, draft.Note = nil, ""
	text := []byte(draft.Text())
	body, diags := syntax.Parse("draft.test.hcl", text)
	if diags.HasErrors() || len(body.Blocks) != 1 {
		return "", fmt.Errorf("the draft cannot be read: %v", diags)
	}
	tests, diags := testblock.Decode(s.base.config, []hcl.TestBlock{{Block: body.Blocks[0], Src: text}})
	if diags.HasErrors() { // such as arguments of a schema, which the author completes
		validator := s.findTool(draft.Tool).Validator
		if _, violations, _ := validator.Check(draft.Args, schema.Unlimited); len(violations) > 0 {
			draft.Expect = map[string]any{"refused": violations[0].Path}
		}
		draft.Note = diags[0].Detail
		return "", nil
	}
	r := &running{Case: &Case{tests[0], s.base.config}}
	r.mocks = s.newMocks(r.Case)
	defer r.mocks.Close()
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := r.makeCall(ctx, s, newBranches()); err != nil {
		draft.Note = diag.ToSentence(err.Error()) + "."
		return "", nil
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
		draft.Expect = s.expectText("error", out.text)
	case out.fault != nil:
		draft.Expect = map[string]any{"fault": out.fault.Code}
	case out.hasValue:
		draft.Expect = map[string]any{"result": out.result}
		// each run has another cursor
		if page, ok := out.result.(map[string]any); ok && s.findTool(draft.Tool).Page != nil {
			draft.Expect = map[string]any{"contains": map[string]any{"rows": page["rows"]}}
		}
	default:
		draft.Expect = s.expectText("text", out.text)
	}
	if n := r.out.partial.Failed; n > 0 {
		draft.Expect["failed"] = n
	}
	return "", nil
}

// expectText expects a text, wherever the configuration directory is.
func (s *Suite) expectText(name, text string) map[string]any {
	if !strings.Contains(text, s.Dir) {
		return map[string]any{name: text}
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(text), regexp.QuoteMeta(s.Dir), ".*")
	return map[string]any{name + "_matches": "^" + pattern + "$"}
}
