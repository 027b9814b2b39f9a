package shell

import (
	"errors"
	"slices"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// block is a shell block.
type block struct {
	Command    *hcl.Argv
	Pipe       *hcl.Pipe
	Script     *hcl.Script
	ScriptFile string

	Stdin      *hcl.Expr
	Env        *hcl.KeyValues
	InheritEnv []string
	Dir        *hcl.StringExpr
	OKCodes    []int
	MaxOutput  hcl.Size
	Stderr     string
	Parse      string
	Timeout    time.Duration
	Sandbox    *sandbox
}

// What standard output is read as.
const (
	asText      = "text"
	asJSON      = "json"
	asJSONLines = "jsonl"
	asLines     = "lines"
)

// merged is the one value of stderr.
const merged = "merge"

const defaultMaxOutput = 1 << 20

func (b *block) spec() hcl.Spec {
	b.Parse, b.MaxOutput = asText, defaultMaxOutput
	return hcl.Join(
		hcl.ExactlyOneOf("what to run",
			hcl.Attr(&b.Command, "command", "A program and its words. No shell reads them: a value is one word whatever it holds, a list is spliced in, null is left out."),
			hcl.Attr(&b.Pipe, "pipe", "Commands, each reading what the one before it writes. Null leaves one out; the failure of any fails the call."),
			hcl.Attr(&b.Script, "script", "A script for sh, or for bash when its first line is #!/bin/bash. Values travel in the environment and never become a part of its text. What the shell expands itself is $name, or $${name}."),
			hcl.Attr(&b.ScriptFile, "script_file", "A script in the folder of the configuration, run by the interpreter that its #! line names, else by /bin/sh. Values reach it through env."),
		),
		hcl.Spec{
			hcl.Attr(&b.Stdin, "stdin", "What the program reads: a text, bytes, an uploaded file, or the JSON of a list or an object. Without it there is nothing to read.").AllowFile(),
			hcl.Attr(&b.Env, "env", "Variables of the environment. Null leaves one out. Variables that decide what code runs, such as PATH, stand in a connection.").AllowSecret().FixedKeys(),
			hcl.Attr(&b.InheritEnv, "inherit_env", "Names of variables that are passed on from the environment of the server, beside PATH, HOME and TMPDIR."),
			hcl.Attr(&b.Dir, "dir", "The working folder. To keep a value below a folder write under(\"folder\", value).").DefaultDoc("the connection's, else the folder of the configuration"),
			hcl.Attr(&b.OKCodes, "ok_codes", "The exit codes that are answers; the others fail the call. A program that a signal ended has 128 and the signal's number.").DefaultDoc("the connection's, else [0]"),
			hcl.Attr(&b.MaxOutput, "max_output", "How much of stdout, and as much of stderr, is kept. Of a longer text the beginning and the end are; longer data fails the call.").DefaultDoc(`"1MiB"`),
			hcl.Attr(&b.Stderr, "stderr", "\"merge\" puts the error output into stdout, in the order of writing.").DefaultDoc("apart"),
			hcl.Attr(&b.Parse, "parse", "What stdout is: \"text\", \"json\", \"jsonl\" (one value a line) or \"lines\".").DefaultDoc(`"text"`),
			hcl.Attr(&b.Timeout, "timeout", "How long the whole may take.").DefaultDoc("the connection's, else the tool's"),
			hcl.Block(&b.Sandbox, "sandbox", "What the programs may do; it stands for all of the connection's. Without one they read the folder of the configuration and the system's programs, write to a TMPDIR of their own, and have no network.", (*sandbox).spec),
		},
	)
}

// Describe implements hcl.Described.
func (b *block) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	facts := hcl.Effects{Output: b.output(), Default: hcl.DefaultResult{Text: "stdout"}, Log: true, Destructive: true, OpenWorld: true}
	switch b.Parse {
	case asJSON, asJSONLines:
		facts.Default = hcl.DefaultResult{Member: "json"}
	case asLines:
		facts.Default = hcl.DefaultResult{Member: "lines"}
	}
	return facts, errors.Join(b.check(conn)...)
}

func (b *block) check(conn *hcl.Connection) (errs []error) {
	if !slices.Contains([]string{asText, asJSON, asJSONLines, asLines}, b.Parse) {
		errs = append(errs, hcl.Blame(&b.Parse, "parse is %q, %q, %q or %q, and this is %q.", asText, asJSON, asJSONLines, asLines, b.Parse))
	}
	if b.Stderr != "" && b.Stderr != merged {
		errs = append(errs, hcl.Blame(&b.Stderr, "stderr is %q or not written, and this is %q. Without it the error output is output.stderr.", merged, b.Stderr))
	}
	if conn != nil && b.Command == nil && len(conn.Config.(*connection).Command) > 0 {
		errs = append(errs, b.blamePrefix(conn))
	}
	if reader := b.readsProgram(); reader != "" {
		errs = append(errs, hcl.Blame(&b.Stdin, "%s runs what it reads, so nobody but the author may say what that is. Give it its program as constant text, as in script = ..., and the value as an argument.", reader))
	}
	for _, name := range b.Env.Names() {
		if decides(name) {
			errs = append(errs, hcl.Blame(&b.Env, "%s decides what code runs, and the env of a block may hold values of a call. Write it in a connection and name that here: connection \"shell\" \"name\" { env = { %s = ... } }.", name, name))
		}
	}
	errs = append(errs, b.Sandbox.check()...)
	errs = append(errs, checkCodes(&b.OKCodes)...)
	return append(errs, checkNames(&b.Env, b.Env.Names(), &b.InheritEnv, b.InheritEnv)...)
}

// readsProgram names the program that would run stdin as code, when stdin is a value of the call.
func (b *block) readsProgram() string {
	if b.Stdin == nil || b.Stdin.Constant() {
		return ""
	}
	switch {
	case b.Command != nil:
		return b.Command.ReadsProgram()
	case b.Pipe != nil:
		return b.Pipe.ReadsProgram()
	}
	return ""
}

// blamePrefix says that only words can follow the words of a connection.
func (b *block) blamePrefix(conn *hcl.Connection) error {
	var field any = &b.ScriptFile
	switch {
	case b.Pipe != nil:
		field = &b.Pipe
	case b.Script != nil:
		field = &b.Script
	}
	return hcl.Blame(field, "The connection %q begins a command, which only command = [...] can go on with. Use a connection without a command here.", conn.Name)
}

func checkCodes(codes *[]int) (errs []error) {
	for _, code := range *codes {
		if code < 0 || code > 255 {
			errs = append(errs, hcl.Blame(codes, "An exit code is a number from 0 to 255, and %d is not.", code))
		}
	}
	return errs
}

// output is the type of the root `output`.
func (b *block) output() *schema.Type {
	text := &schema.Type{Kind: schema.String}
	members := []*schema.Member{
		{Name: "stdout", Type: text},
		{Name: "stderr", Type: text},
		{Name: "code", Type: &schema.Type{Kind: schema.Integer}},
	}
	switch b.Parse {
	case asJSON:
		members = append(members, &schema.Member{Name: "json", Type: &schema.Type{Kind: schema.Any}})
	case asJSONLines:
		members = append(members, &schema.Member{Name: "json", Type: schema.ListOf(&schema.Type{Kind: schema.Any})})
	case asLines:
		members = append(members, &schema.Member{Name: "lines", Type: schema.ListOf(text)})
	}
	return schema.ObjectOf(members...)
}
