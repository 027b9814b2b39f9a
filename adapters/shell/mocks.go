package shell

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/internal/charset"
	"hatchel/internal/lazyregexp"
)

// answer has the programs of a call answered by mocks. Each program of a pipe reads what the one before has written.
func (a *action) answer(ctx context.Context, call *adapters.Call, p *commandPlan) (any, error) {
	j := &job{stdout: newMockedStream(p.maxOutput, p.encoding)}
	if !p.mergeStderr {
		j.stderr = newMockedStream(p.maxOutput, p.encoding)
	}
	defer j.close()
	exits := make([]exitStatus, len(p.stages))
	stdin := p.stdin
	for i, argv := range p.stages {
		got, err := a.ask(ctx, p, argv, stdin)
		if err != nil && ctx.Err() != nil {
			return nil, a.stoppedError(ctx, p, j)
		}
		if err != nil {
			return nil, err
		}
		exits[i].code, stdin = got.code, got.stdout
		if i == len(p.stages)-1 {
			j.stdout.captured.write(got.stdout)
		}
		if j.stderr != nil {
			j.stderr.captured.write(got.stderr)
		} else {
			j.stdout.captured.write(got.stderr)
		}
	}
	p.traceStream(call, adapters.TraceStderr, j.stderr)
	return a.result(call, p, j, exits)
}

// mockedProgram is a program as it would be started. The programs of a pipe run one after the other.
type mockedProgram struct {
	argv       []string          // of a script, with its interpreter
	script     string            // the text of a script; empty for anything else
	scriptFile string            // the file name of a script, as it is declared; empty for anything else
	env        map[string]string // without what is inherited
	stdin      []byte            // nil for none
	writesJSON bool              // the standard output is read as JSON
	connection string
}

func (a *action) mockedProgram(p *commandPlan, argv []string, stdin []byte) *mockedProgram {
	program := &mockedProgram{argv: argv, env: map[string]string{}, stdin: stdin, connection: a.connection,
		writesJSON: a.block.As == asJSON}
	for _, v := range p.variables {
		program.env[v.name] = v.value
	}
	switch {
	case a.block.Script != nil:
		program.script = a.block.Script.Text()
	case p.isScript:
		program.scriptFile = a.block.ScriptFile
	}
	return program
}

// exit is what a program has written, and its exit code.
type exit struct {
	stdout, stderr []byte
	code           int
}

// ask has a program answered by mocks, or runs it for real.
func (a *action) ask(ctx context.Context, p *commandPlan, argv []string, stdin []byte) (*exit, error) {
	program := a.mockedProgram(p, argv, stdin)
	q := &mock.Question{
		Kind: "shell", Connection: a.connection, Name: strings.Join(argv, " "), Secrets: p.secrets,
		Match: program.match, Taped: program.taped, Suggest: program.suggest,
	}
	if program.script != "" {
		q.Name = "the script " + mock.OneLine(program.script)
	}
	q.Sent = program.what()
	q.Sent["dir"], q.Sent["env"], q.Sent["stdin"] = p.shownDir, program.variables(), string(stdin)
	reply, err := a.mocks.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case reply == nil:
		return a.record(ctx, q, p, argv, stdin)
	}
	out := &exit{}
	out.code, _ = reply.Args["exit"].(int)
	if out.stdout, err = a.written(reply, "stdout", p.encoding); err == nil {
		out.stderr, err = a.written(reply, "stderr", p.encoding)
	}
	return out, err
}

// base64Suffix ends the names of the members of a reply that hold bytes.
const base64Suffix = "_base64"

// written returns what a program has written by a reply: a text in the encoding of the block, or bytes.
func (a *action) written(reply *mock.Reply, name string, encoding *charset.Encoding) ([]byte, error) {
	if text := reply.Text(name + base64Suffix); text != "" {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, a.mocks.Fail(reply.Mock, fmt.Sprintf("%s%s is not base64: %v.", name, base64Suffix, err))
		}
		return raw, nil
	}
	raw, ok := charset.Encode(reply.Text(name), encoding)
	if !ok {
		return nil, a.mocks.Fail(reply.Mock, fmt.Sprintf("%s has a character that %v, the encoding of the block, does "+
			"not have.", name, encoding))
	}
	return raw, nil
}

// tape adds what a program has written to a reply on a tape: as text, if it comes back as it is.
func tape(reply map[string]any, name string, raw []byte, encoding *charset.Encoding) {
	text := string(raw)
	if encoding != nil {
		text, _ = charset.Decode(raw, encoding)
	}
	if again, _ := charset.Encode(text, encoding); utf8.ValidString(text) && bytes.Equal(again, raw) {
		reply[name] = text
	} else {
		reply[name+base64Suffix] = base64.StdEncoding.EncodeToString(raw)
	}
}

// record runs a program for real, and records what it has written.
func (a *action) record(
	ctx context.Context, q *mock.Question, p *commandPlan, argv []string, stdin []byte,
) (*exit, error) {
	got, err := a.runStage(ctx, p, argv, stdin)
	switch {
	case err != nil:
		a.mocks.FailRecording(p.secrets, "the program %s has failed: %s", argv[0], err)
	default:
		reply := map[string]any{"exit": got.code}
		tape(reply, "stdout", got.stdout, p.encoding)
		if len(got.stderr) > 0 {
			tape(reply, "stderr", got.stderr, p.encoding)
		}
		a.mocks.Record(q, reply)
	}
	return got, err
}

// what returns what runs: a script, its file or a command.
func (p *mockedProgram) what() map[string]any {
	switch {
	case p.script != "":
		return map[string]any{"script": p.script}
	case p.scriptFile != "":
		return map[string]any{"script_file": p.scriptFile}
	}
	return map[string]any{"command": words(p.argv)}
}

func (p *mockedProgram) variables() map[string]any {
	out := make(map[string]any, len(p.env))
	for name, text := range p.env {
		out[name] = text
	}
	return out
}

func words(argv []string) []any {
	out := make([]any, len(argv))
	for i, word := range argv {
		out[i] = word
	}
	return out
}

// taped returns the program as a tape has it.
func (p *mockedProgram) taped() map[string]any {
	taped := p.what()
	if len(p.env) > 0 {
		taped["env"] = p.variables()
	}
	switch {
	case p.stdin == nil:
	case utf8.Valid(p.stdin):
		taped["stdin"] = string(p.stdin)
	default:
		taped["stdin"+base64Suffix] = base64.StdEncoding.EncodeToString(p.stdin)
	}
	return taped
}

// match compares the program with a mock.
func (p *mockedProgram) match(c *mock.Matcher, m *mock.Mock, _ bool) {
	c.Part("the connection", m.Connection == p.connection, m.Connection, p.connection)
	if want, ok := m.Request["command"].([]any); ok {
		patterns, _ := mock.TextsOf(want)
		agrees := p.script == "" && p.scriptFile == "" && mock.LikeList(patterns, p.argv, c.LikeText)
		c.Part("the command", agrees, want, words(p.argv))
	}
	if want, ok := m.Request["script"].(string); ok {
		want, got := mock.OneLine(want), mock.OneLine(p.script)
		c.Part("the script", p.script != "" && c.LikeText(want, got), want, got)
	}
	if want, ok := m.Request["script_file"].(string); ok {
		c.Part("the script_file", want == p.scriptFile, want, p.scriptFile)
	}
	if want, ok := m.Request["env"].(map[string]any); ok {
		env := map[string][]string{}
		for name, text := range p.env {
			env[name] = []string{text}
		}
		c.Fields("env", want, env)
	}
	if want, ok := m.Request["stdin"].(string); ok {
		c.Part("stdin", c.EqualText(want, string(p.stdin)), want, string(p.stdin))
	}
	if want, ok := m.Request["stdin"+base64Suffix].(string); ok {
		got := base64.StdEncoding.EncodeToString(p.stdin)
		c.Part("stdin", want == got, want, got)
	}
}

// scriptValues matches what a script begins with that takes its values from the environment.
var scriptValues = lazyregexp.New(`^(\w+=\$\w+ )*\w+=\$\w+; unset [\w ]+; `)

// suggest returns the mock that answers the program.
func (p *mockedProgram) suggest() *mock.Mock {
	m := &mock.Mock{Connection: p.connection, Request: p.what(), Replies: []map[string]any{{"stdout": ""}}}
	if p.script != "" {
		m.Request["script"] = scriptValues.ReplaceAllString(p.script, "*")
	}
	if len(p.stdin) > 0 && utf8.Valid(p.stdin) {
		m.Request["stdin"] = string(p.stdin)
	}
	env := map[string]any{}
	for name, text := range p.env {
		if utf8.ValidString(text) {
			env[name] = text
		}
	}
	if len(env) > 0 {
		m.Request["env"] = env
	}
	if p.writesJSON {
		m.Replies[0]["stdout"] = "{}"
	}
	return m
}

// mockKind is what tests write in place of programs.
func mockKind() *mock.Kind {
	return &mock.Kind{
		Doc:    "In a test: a program or a script, and what it writes. Each program of a pipe is mocked by itself.",
		Choice: "what is run",
		Request: []mock.Argument{
			{Name: "command", Doc: "The program and its arguments. * stands for any text in a word, and a word ** " +
				"for any number of words.", Type: mock.Texts, Local: true},
			{Name: "script", Doc: "The script, where * stands for any text.", Type: mock.Text, Lines: true, Code: true,
				Local: true},
			{Name: "script_file", Doc: "The file of a script, as it is declared.", Type: mock.Text},
		},
		Details: []mock.Argument{
			{Name: "stdin", Doc: "The standard input.", Type: mock.Text, Lines: true},
			{Name: "stdin_base64", Doc: "The standard input, as bytes in base64, in place of stdin.", Type: mock.Text},
			{Name: "env", Doc: "Some of the environment variables.", Type: mock.Names},
		},
		Besides: []mock.Argument{
			{Name: "stdout", Doc: "The standard output, which is written in the encoding of the block.",
				Type: mock.Text, Lines: true},
			{Name: "stderr", Doc: "The standard error.", Type: mock.Text, Lines: true},
			{Name: "stdout_base64", Doc: "The standard output, as bytes in base64, in place of stdout.",
				Type: mock.Text},
			{Name: "stderr_base64", Doc: "The standard error, as bytes in base64, in place of stderr.",
				Type: mock.Text},
			mock.Between("exit", "The exit code, by default 0.", 0, 255),
			mock.Delay("How long the program runs."),
		},
		Taped: mock.Taped(map[string]*schema.Type{"stdout": mock.Text, "stderr": mock.Text, "exit": mock.Integer,
			"stdout_base64": mock.Text, "stderr_base64": mock.Text}),
		Naming: []string{"script", "script_file", "command"},
	}
}

// runStage runs one program of a plan.
func (a *action) runStage(ctx context.Context, p *commandPlan, argv []string, stdin []byte) (*exit, error) {
	stage := *p
	stage.stages, stage.stdin = [][]string{argv}, stdin
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j, err := stage.start(a.programs)
	if err != nil {
		return nil, stage.startFault(err)
	}
	defer j.close()
	j.stop = stop
	exits, stopped := j.wait(ctx)
	switch {
	case stopped:
		return nil, a.stoppedError(ctx, &stage, j)
	case exits[0].err != nil:
		return nil, stage.exitFault(0, exits[0], j)
	}
	out := &exit{code: exits[0].code}
	for _, output := range []struct {
		of   *stream
		into *[]byte
	}{{j.stdout, &out.stdout}, {j.stderr, &out.stderr}} {
		if output.of == nil {
			continue
		}
		if output.of.captured.omitted() > 0 {
			return nil, &adapters.Fault{Message: "the program wrote more than max_output, which a test does not cut"}
		}
		*output.into = slices.Clone(output.of.captured.buf)
	}
	return out, nil
}

// newMockedStream returns a stream that no program writes to.
func newMockedStream(limit int, encoding *charset.Encoding) *stream {
	return &stream{captured: newCapture(limit, encoding)}
}

// write adds the output of a mock.
func (c *capture) write(output []byte) {
	for len(output) > 0 {
		n := copy(c.nextBuffer(), output)
		c.add(n)
		output = output[n:]
	}
}
