package shell

import (
	"cmp"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/shelltext"
)

// block is a shell block.
type block struct {
	Command    *hcl.Argv
	Pipe       *hcl.Pipe
	Script     *hcl.Script
	ScriptFile string

	Stdin        *hcl.Expr
	RunsStdin    bool
	DataPrograms []string

	Env        *hcl.KeyValues
	InheritEnv []string
	Dir        *hcl.StringExpr
	OKCodes    []int
	MaxOutput  hcl.Size
	Truncate   bool
	Stderr     string
	As         string
	Encoding   string
	Timeout    time.Duration
	Sandbox    *sandbox.Block
}

// The values of as.
const (
	asText      = "text"
	asJSON      = "json"
	asJSONLines = "jsonl"
	asLines     = "lines"
	asBytes     = "bytes"
)

// stderrMerge is the only value of stderr.
const stderrMerge = "merge"

const defaultMaxOutput = 1 << 20

const docInheritEnv = "Names of variables to pass on from the server's environment, besides PATH. Programs " +
	"that are not confined get HOME and TMPDIR, too; for others both are the temporary directory of the call, unless " +
	"HOME is named here."

const docDataPrograms = "Names of programs that take all of their words and their input for data, and so may be " +
	"given any text of a caller. Hatchel warns of programs that it does not know and that this does not name."

func (b *block) spec() hcl.Spec {
	b.As, b.MaxOutput = asText, defaultMaxOutput
	choices := []string{asText, asJSON, asJSONLines, asLines, asBytes}
	return hcl.Join(
		hcl.CommandFields(hcl.Spec{
			hcl.Attr(&b.Command, "command", "A program and its arguments. No shell reads them: a value is one "+
				"argument, whatever it contains. A list is inserted as several arguments; null is omitted."),
			hcl.Attr(&b.Pipe, "pipe", "Commands that each read the output of the one before: lists of words, or { "+
				"command = […], ok_codes = [0, 1] }. The connection's command begins the first. A null command is "+
				"omitted. The failure of any command fails the call."),
			hcl.Attr(&b.Script, "script", "A script for sh, or for bash if its first line is #!/bin/bash. Values "+
				"are passed in the environment and never become part of the text. Write $name or $${name} for what "+
				"the shell expands itself."),
			hcl.Attr(&b.ScriptFile, "script_file", "A script in the configuration directory, run by the "+
				"interpreter of its #! line, or else by /bin/sh. Values are passed in env."),
		},
			&b.Stdin, "The standard input: a text, bytes, an uploaded file, or a list or an object, which is written "+
				"as JSON. Without it, the standard input is empty.",
			&b.Env, "Environment variables. A null variable is omitted. Variables that decide which code runs, such "+
				"as PATH, belong in a connection.",
			&b.DataPrograms, docDataPrograms,
			&b.RunsStdin, "The program runs its standard input as code, which the caller may write. Only a command "+
				"that runs in a container or on another machine, as docker run, kubectl exec and ssh do, may say so."),
		hcl.Spec{
			hcl.Attr(&b.InheritEnv, "inherit_env", docInheritEnv),
			hcl.FolderField(&b.Dir, "dir", "The working directory. A caller's value in it must come from "+
				"under(\"directory\", value) or filename(value), or have a type that cannot leave the directory.").
				DefaultDoc("the connection's, else the configuration directory"),
			hcl.Attr(&b.OKCodes, "ok_codes", "The exit codes that mean success; all others fail the call. A program "+
				"that a signal ends has the code 128 plus its number. A pipe has them in its stages.").
				DefaultDoc("the connection's, else [0]"),
			hcl.Attr(&b.MaxOutput, "max_output", "How much of stdout, and of stderr, is kept. The middle of a "+
				"longer text, or the end of longer lines, is removed, and output.truncated is true. Longer JSON and "+
				"bytes fail the call.").DefaultDoc(`"1MiB"`),
			hcl.TruncateAttr(&b.Truncate, "max_output"),
			hcl.Attr(&b.Stderr, "stderr", "\"merge\" writes the error output to stdout, in the order of writing.").
				DefaultDoc("separate"),
		},
		hcl.AtMostOneOf("how stdout is read",
			hcl.Choice(&b.As, "as", `How stdout is read: "text", "json", "jsonl" (one JSON value a line), "lines" or `+
				`"bytes". Text that is not in its encoding fails the call.`, choices...).DefaultDoc(`"text"`),
			hcl.Choice(&b.As, "parse", "The earlier name of as.", choices...),
		),
		hcl.Spec{
			hcl.Encoding(&b.Encoding, "The encoding of the text that the programs write."),
			hcl.Attr(&b.Timeout, "timeout", "The block's time limit.").DefaultDoc("the connection's, else the tool's"),
			hcl.Block(&b.Sandbox, "sandbox", "The permissions of the programs; replaces the sandbox of the "+
				"connection. Without a sandbox, programs read the system's programs and the files of the "+
				"configuration directory that the command names, write to a temporary directory of their own "+
				"(TMPDIR), and have no network.", (*sandbox.Block).Spec),
		},
	)
}

// Describe implements hcl.Describer.
func (b *block) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	effects := hcl.Effects{
		Output: b.outputType(), Facts: hcl.CutMembers("stdout", "stderr"), Default: hcl.DefaultResult{Text: "stdout"},
		Log: true, Destructive: true, OpenWorld: true,
	}
	if f, ok := formats[b.As]; ok {
		effects.Default = hcl.DefaultResult{Member: f.member}
		if b.As == asJSONLines {
			effects.TextOf = map[string]string{"stdout": f.member}
		}
		if f.decode == nil {
			effects.Facts = hcl.CutMembers("stdout", "stderr", f.member)
		}
	}
	if b.As == asBytes {
		effects.Default, effects.Facts = hcl.DefaultResult{Document: "stdout"}, hcl.CutMembers("stderr")
	}
	var checks adapters.Checks
	b.check(&checks, conn)
	return effects, checks.Err()
}

// Effects implements hcl.EffectLister.
func (b *block) Effects(conn *hcl.Connection) (effects []hcl.Effect) {
	switch {
	case b.Command != nil:
		effects = append(effects, hcl.Effect{Verb: "RUN", Source: []any{&b.Command}})
	case b.Pipe != nil:
		effects = append(effects, hcl.Effect{Verb: "RUN", Source: []any{&b.Pipe}})
	case b.Script != nil:
		effects = append(effects, hcl.Effect{Verb: "RUN", What: "script " + adapters.TextDigest(b.Script.Text())})
	default:
		effects = append(effects, hcl.Effect{Verb: "RUN", Source: []any{&b.ScriptFile}})
	}
	if b.Dir != nil {
		effects = append(effects, hcl.Effect{Verb: "DIR", Source: []any{&b.Dir}})
	}
	effects = append(effects, hcl.Effect{Verb: "STDIN", Values: &b.Stdin})
	if b.RunsStdin {
		effects = append(effects, hcl.Effect{Verb: "RUN", What: "standard input as code"})
	}
	if b.DataPrograms != nil {
		effects = append(effects, hcl.Effect{Verb: "DATA", Source: []any{&b.DataPrograms}})
	}
	if b.InheritEnv != nil {
		effects = append(effects, hcl.Effect{Verb: "INHERIT", Source: []any{&b.InheritEnv}})
	}
	confined := b.Sandbox
	if confined == nil && conn != nil {
		confined = conn.Config.(*connection).Sandbox
	}
	return append(effects, confined.Effects()...)
}

// Code implements hcl.CodeRunner.
func (b *block) Code(conn *hcl.Connection) hcl.Code {
	code := hcl.Code{Words: slices.Clone(b.Env.Constants())}
	confined := b.Sandbox
	if conn != nil {
		own := conn.Config.(*connection)
		code.Words, code.Dir = append(slices.Concat(code.Words, own.Command), own.Env.Constants()...), own.Dir
		confined = cmp.Or(confined, own.Sandbox)
		if own.Dir != "" {
			code.Granted = append(code.Granted, own.Dir)
		}
	}
	if dir, known := b.Dir.Known(); known {
		code.Dir, code.Granted = dir, append(code.Granted, dir)
	}
	code.Words = append(code.Words, b.constantWords("")...)
	if b.ScriptFile != "" { // relative to the configuration directory
		code.Granted, code.Script = append(code.Granted, b.ScriptFile), b.ScriptFile
	}
	if b.Script != nil {
		code.Texts = append(code.Texts, b.Script.Text())
	}
	if b.Stdin != nil {
		if text, ok := b.Stdin.Typed.Value.(string); ok && b.Stdin.Constant() {
			code.Texts = append(code.Texts, text)
		}
	}
	if confined != nil {
		code.Granted, code.Writable = append(code.Granted, confined.Read...), confined.Write
		code.Free = confined.Mode == sandbox.ModeNone
	}
	return code
}

func (b *block) check(checks *adapters.Checks, conn *hcl.Connection) {
	checks.Refuse(b.Stderr != "" && b.Stderr != stderrMerge, &b.Stderr, "stderr must be %q or omitted, not %q. If it "+
		"is omitted, the error output is output.stderr.", stderrMerge, b.Stderr)
	if conn != nil && b.Command == nil && b.Pipe == nil && len(conn.Config.(*connection).Command) > 0 {
		var field any = &b.ScriptFile
		if b.Script != nil {
			field = &b.Script
		}
		checks.Refuse(true, field, "The connection %q begins a command, which only command = [...] and the first "+
			"stage of pipe = [...] continue. Use a connection without a command here.", conn.Name)
	}
	checks.Refuse(b.Pipe != nil && b.OKCodes != nil, &b.OKCodes, "ok_codes belongs to a stage of a pipe, because it "+
		"would hide the failure of the others. Write pipe = [[…], { command = [\"grep\", …], ok_codes = [0, 1] }].")
	for _, name := range b.Env.Names() {
		checks.Refuse(shelltext.LoadsCode(name), &b.Env,
			"%s decides which code runs, and the env of a block can hold values of "+
				"a call. Set it in a connection, and name the connection here: connection \"shell\" \"name\" { "+
				"env = { %[1]s = ... } }.", name)
	}
	checks.Refuse(b.Encoding != "" && b.As == asBytes, &b.Encoding, "encoding is that of text, but stdout is read as "+
		"bytes. Remove one of them.")
	checks.Refuse(b.RunsStdin && b.Stdin == nil, &b.RunsStdin, "runs_stdin needs the program on the standard input: "+
		"stdin = input.program.")
	b.Sandbox.Check(checks)
	checkExitCodes(checks, &b.OKCodes)
	program.CheckVariableNames(checks, &b.Env, &b.InheritEnv)
}

func checkExitCodes(checks *adapters.Checks, codes *[]int) {
	for _, code := range *codes {
		checks.Refuse(code < 0 || code > 255, codes, "An exit code must be from 0 to 255, not %d.", code)
	}
}

// outputType returns the type of output.
func (b *block) outputType() *schema.Type {
	text := &schema.Type{Kind: schema.String}
	stdout := text
	if b.As == asBytes {
		stdout = &schema.Type{Kind: schema.Bytes}
	}
	members := []*schema.Member{
		{Name: "stdout", Type: stdout},
		{Name: "stderr", Type: text},
		{Name: "code", Type: &schema.Type{Kind: schema.Integer}},
		{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}},
	}
	if f, ok := formats[b.As]; ok {
		members = append(members, &schema.Member{Name: f.member, Type: f.typ})
	}
	return schema.ObjectOf(members...)
}
