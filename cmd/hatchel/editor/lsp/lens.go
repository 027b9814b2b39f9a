package lsp

import (
	"fmt"
	"slices"

	"hatchel/cmd/hatchel/editor"
	"hatchel/internal/tokens"
)

// The commands of code lenses and code actions. The server executes nothing: a client that implements some of them
// lists these in its initializationOptions, and gets no others. Their first argument is the configuration directory,
// the second one the name of a tool.
const (
	commandTest   = "hatchel.test"   // hatchel test --tool TOOL
	commandDryRun = "hatchel.dryRun" // hatchel call --dry-run TOOL JSON; its third argument proposes the JSON
	commandLock   = "hatchel.lock"   // hatchel lock; it has no tool
)

// command is an action of the client. Without a name it is a text to show.
type command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments,omitempty"`
}

type codeLens struct {
	Range   Range   `json:"range"`
	Command command `json:"command"`
}

// has reports whether the client has a command, or only shows a text in place of one.
func (s *Server) has(command string) bool {
	return command == "" || slices.Contains(s.commands, command)
}

// codeLenses answers textDocument/codeLens: above each tool its tests, a dry run, and how many tokens it takes.
func codeLenses(v *view, _ *documentParams) ([]codeLens, *responseError) {
	found, tests := []codeLens{}, v.project.CountTests()
	for _, t := range v.project.ToolBlocks(v.file) {
		at := v.span(t.Header())
		add := func(title, name string, arguments ...any) {
			if v.server.has(name) {
				found = append(found, codeLens{at, command{title, name, arguments}})
			}
		}
		if n := tests[t.Name]; n > 0 {
			add(fmt.Sprintf("run tests (%d)", n), commandTest, v.project.Dir, t.Name)
		}
		add("dry-run", commandDryRun, v.project.Dir, t.Name, t.ExampleArguments())
		if v.server.opts.Entry != nil && t.Listed {
			add(fmt.Sprintf("≈ %d tokens", tokens.Estimate(string(v.server.opts.Entry(t.Tool)))), "")
		}
	}
	return found, nil
}

type inlayParams struct {
	documentParams
	Range Range `json:"range"`
}

type inlayHint struct {
	Position editor.Position `json:"position"`
	Label    string          `json:"label"`
	Tooltip  string          `json:"tooltip"`
	Padding  bool            `json:"paddingLeft"`
}

const derivedDoc = "Derived from the backend. Clients receive it as annotations."

// inlayHints answers textDocument/inlayHint: behind the first line of each tool the annotations that are derived.
func inlayHints(v *view, p *inlayParams) ([]inlayHint, *responseError) {
	found := []inlayHint{}
	for _, t := range v.project.ToolBlocks(v.file) {
		at := v.span(editor.Span{From: t.Block.OpenBraceRange.End.Byte, To: t.Block.OpenBraceRange.End.Byte}).Start
		if text := t.DerivedAnnotations(); text != "" && !before(at, p.Range.Start) && !before(p.Range.End, at) {
			found = append(found, inlayHint{at, text, derivedDoc, true})
		}
	}
	return found, nil
}

type signatureHelp struct {
	Signatures []signature `json:"signatures"`
	Signature  int         `json:"activeSignature"`
	Parameter  int         `json:"activeParameter"`
}

type signature struct {
	Label         string        `json:"label"`
	Documentation MarkupContent `json:"documentation"`
	Parameters    []parameter   `json:"parameters"`
}

type parameter struct {
	Label string `json:"label"`
}

// signatureAt answers textDocument/signatureHelp.
func signatureAt(v *view, p *positionParams) (*signatureHelp, *responseError) {
	s := v.project.SignatureAt(v.file.Src, v.offset(p.Position))
	if s == nil {
		return nil, nil
	}
	out := signature{s.Usage, markdown(s.Doc), []parameter{}}
	for _, name := range s.Params {
		out.Parameters = append(out.Parameters, parameter{name})
	}
	return &signatureHelp{[]signature{out}, 0, s.Active}, nil
}
