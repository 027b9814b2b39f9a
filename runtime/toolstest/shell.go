package toolstest

import (
	"context"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

// Run implements adapters.Mocks.
func (m *Mocks) Run(ctx context.Context, p *adapters.Program) (*adapters.Exit, error) {
	hide := func(text string) string { return m.hide(text, p.Secrets) }
	name := strings.Join(p.Argv, " ")
	if p.Script != "" {
		name = "the script " + oneLine(p.Script)
	}
	reply, err := m.answer(&question{
		kind: "shell", connection: p.Connection, name: hide(name), sent: sentProgram(p, hide),
		matches: func(mock *Mock) mismatch { return matchProgram(mock, p, hide) },
		paste:   func() string { return pasteProgram(p, hide) },
	})
	if err == nil {
		err = m.wait(ctx, reply)
	}
	if err != nil {
		return nil, err
	}
	exit := &adapters.Exit{}
	exit.Code, _ = reply.args["exit"].(int)
	stdout, _ := reply.args["stdout"].(string)
	stderr, _ := reply.args["stderr"].(string)
	exit.Stdout, exit.Stderr = []byte(stdout), []byte(stderr)
	return exit, nil
}

func matchProgram(m *Mock, p *adapters.Program, hide func(string) string) mismatch {
	c := &matcher{hide: hide}
	c.part("the connection", m.Connection == p.Connection, m.Connection, p.Connection)
	if want, ok := m.Request["command"].([]any); ok {
		patterns, _ := textsOf(want)
		agrees := p.Script == "" && p.ScriptFile == "" && likeList(patterns, p.Argv, c.likeText)
		c.part("the command", agrees, want, list(p.Argv))
	}
	if want, ok := m.Request["script"].(string); ok {
		c.part("the script", p.Script != "" && c.likeText(oneLine(want), oneLine(p.Script)), oneLine(want),
			oneLine(p.Script))
	}
	if want, ok := m.Request["script_file"].(string); ok {
		c.part("the script_file", want == p.ScriptFile, want, p.ScriptFile)
	}
	env := map[string][]string{}
	for _, v := range p.Env {
		env[v.Name] = []string{v.Value}
	}
	if want, ok := m.Request["env"].(map[string]any); ok {
		c.fields("env", want, env)
	}
	if want, ok := m.Request["stdin"].(string); ok {
		c.part("stdin", c.equalText(want, string(p.Stdin)), want, string(p.Stdin))
	}
	return c.mismatch()
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// sentProgram returns a program as conditions read it.
func sentProgram(p *adapters.Program, hide func(string) string) map[string]any {
	env := map[string]any{}
	for _, v := range p.Env {
		env[v.Name] = hide(v.Value)
	}
	sent := map[string]any{
		"kind": "shell", "connection": p.Connection, "dir": hide(p.Dir), "env": env, "stdin": hide(string(p.Stdin)),
	}
	switch {
	case p.Script != "":
		sent["script"] = p.Script
	case p.ScriptFile != "":
		sent["script_file"] = p.ScriptFile
	default:
		sent["command"] = hideValue(list(p.Argv), hide)
	}
	return sent
}

// pasteProgram returns the mock block that answers a program.
func pasteProgram(p *adapters.Program, hide func(string) string) string {
	b := newBlock("shell", p.Connection)
	switch {
	case p.Script != "":
		b.set("script", hide(p.Script))
	case p.ScriptFile != "":
		b.set("script_file", p.ScriptFile)
	default:
		b.set("command", hideValue(list(p.Argv), hide))
	}
	if len(p.Stdin) > 0 && utf8.Valid(p.Stdin) {
		b.set("stdin", hide(string(p.Stdin)))
	}
	env := map[string]any{}
	for _, v := range p.Env {
		if _, err := value.Text(v.Value); err == nil && utf8.ValidString(v.Value) {
			env[v.Name] = hide(v.Value)
		}
	}
	if len(env) > 0 {
		b.set("env", env)
	}
	stdout := ""
	if p.WritesJSON {
		stdout = "{}"
	}
	b.nested("reply").set("stdout", stdout)
	return b.text()
}
