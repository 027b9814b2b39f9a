package toolstest

import (
	"context"
	"regexp"
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
		matches: func(mock *Mock, _ bool) mismatch { return matchProgram(mock, p, hide) },
		paste:   func() string { return m.pasteProgram(p, hide) },
		asked:   func() map[string]any { return askedProgram(p) }, secrets: p.Secrets, asLive: m.Live(),
	})
	if err == nil && reply == nil {
		return m.start(ctx, p)
	}
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

// start runs a program for real, and records what it has written.
func (m *Mocks) start(ctx context.Context, p *adapters.Program) (*adapters.Exit, error) {
	exit, err := p.Start(ctx)
	switch {
	case !m.isRecording():
	case err != nil:
		m.failRecording("the program %s has failed: %s", p.Argv[0], m.hide(err.Error(), p.Secrets))
	case !utf8.Valid(exit.Stdout) || !utf8.Valid(exit.Stderr):
		m.failRecording("the program %s has written bytes that are not UTF-8 text, which a tape cannot hold", p.Argv[0])
	default:
		reply := map[string]any{"stdout": string(exit.Stdout), "exit": exit.Code}
		if len(exit.Stderr) > 0 {
			reply["stderr"] = string(exit.Stderr)
		}
		m.record(&exchange{kind: "shell", connection: p.Connection, request: askedProgram(p), reply: reply,
			secrets: p.Secrets})
	}
	return exit, err
}

// askedProgram returns a program as a tape has it.
func askedProgram(p *adapters.Program) map[string]any {
	asked := map[string]any{}
	switch {
	case p.Script != "":
		asked["script"] = p.Script
	case p.ScriptFile != "":
		asked["script_file"] = p.ScriptFile
	default:
		asked["command"] = list(p.Argv)
	}
	env := map[string]any{}
	for _, v := range p.Env {
		env[v.Name] = v.Value
	}
	if len(env) > 0 {
		asked["env"] = env
	}
	if p.Stdin != nil {
		asked["stdin"] = string(p.Stdin)
	}
	return asked
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

// scriptValues matches what a script begins with that takes its values from the environment.
var scriptValues = regexp.MustCompile(`^(\w+=\$\w+ )*\w+=\$\w+; unset [\w ]+; `)

// stagedFile matches the directory of an uploaded file, which differs in each call.
var stagedFile = regexp.MustCompile(`[^\s*]*/hatchel-files-\d+/\w+/\w+/`)

// pasteProgram returns the mock block that answers a program, on every machine: the configuration directory can be
// anywhere.
func (m *Mocks) pasteProgram(p *adapters.Program, hide func(string) string) string {
	elsewhere := func(text string) string {
		return hide(stagedFile.ReplaceAllString(strings.ReplaceAll(text, m.dir+"/", "*/"), "*/"))
	}
	b := newBlock("shell", p.Connection)
	switch {
	case p.Script != "":
		b.set("script", elsewhere(scriptValues.ReplaceAllString(p.Script, "*")))
	case p.ScriptFile != "":
		b.set("script_file", p.ScriptFile)
	default:
		b.set("command", hideValue(list(p.Argv), elsewhere))
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
