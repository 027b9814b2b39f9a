package shell

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/program"
	"hatchel/hcl"
	"hatchel/hcl/template/shelltext"
	"hatchel/hcl/value"
)

// commandPlan is the command of one call, and what of it may be shown.
type commandPlan struct {
	command
	okCodes   [][]int    // of the stages of a pipe; nil for anything else
	shownDir  string     // dir as the author and the caller know it
	isScript  bool       // the program is the interpreter of a script
	variables []variable // of env, in the order of writing
	stdinFile string     // describes the uploaded file that is stdin; empty for anything else
	secrets   []string
}

// variable is one entry of env.
type variable struct {
	name, value string
	secret      bool
}

// plan evaluates the block for a call. The error is a *adapters.Fault.
func (a *action) plan(f *hcl.Frame) (*commandPlan, error) {
	p := &commandPlan{command: command{
		mergeStderr: a.block.Stderr == stderrMerge, maxOutput: int(a.block.MaxOutput), encoding: a.encoding,
		sandbox: a.sandbox, tempVars: a.tempVars,
	}}
	around := f.Resolved
	f.Resolved = &p.resolved
	defer func() { f.Resolved = around }()
	for _, part := range []func(*hcl.Frame, *commandPlan) error{a.planArgv, a.planDir, a.planEnv, a.planStdin} {
		if err := part(f, p); err != nil {
			return nil, &adapters.Fault{Message: err.Error()}
		}
	}
	if f.StagedDir != nil {
		p.uploads = f.StagedDir()
	}
	return p, nil
}

func (a *action) planArgv(f *hcl.Frame, p *commandPlan) (err error) {
	var argv []string
	switch b := a.block; {
	case b.Pipe != nil:
		stages, err := b.Pipe.Bind(f, a.okCodes)
		for _, s := range stages {
			p.stages, p.okCodes = append(p.stages, s.Words), append(p.okCodes, s.OKCodes)
		}
		return err
	case b.Command != nil:
		argv, err = b.Command.Bind(f, make([]string, 0, 8))
	case b.Script != nil:
		argv, p.isScript = b.Script.Argv(), true
	default:
		argv, p.isScript = a.scriptArgv, true
	}
	p.stages = [][]string{argv}
	return err
}

func (a *action) planDir(f *hcl.Frame, p *commandPlan) error {
	p.dir, p.shownDir = a.dir, "of the tools"
	if a.block.Dir == nil {
		return nil
	}
	path, err := a.block.Dir.Render(f)
	if err != nil {
		return err
	}
	p.dir, p.shownDir = adapters.Absolute(a.configDir, path), path
	return nil
}

func (a *action) planEnv(f *hcl.Frame, p *commandPlan) error {
	p.env = a.baseEnv
	for _, entries := range a.env {
		evaluated, err := entries.Eval(f)
		if err != nil {
			return err
		}
		for _, e := range evaluated {
			if entries == a.block.Env && shelltext.LoadsCode(e.Name) {
				return fmt.Errorf("the variable %s decides which code runs and cannot be set by a call", e.Name)
			}
			if err := p.addVariable(e, entries.Secret(e.Name)); err != nil {
				return err
			}
		}
	}
	if a.block.Script != nil {
		values, err := a.block.Script.Env(f)
		if err != nil {
			return err
		}
		for _, entry := range values {
			name, v, _ := strings.Cut(entry, "=")
			p.variables = append(p.variables, variable{name, v, false})
		}
	}
	if len(p.variables) > 0 {
		p.env = append(make(program.Environment, 0, len(a.baseEnv)+len(p.variables)), a.baseEnv...)
	}
	for _, v := range p.variables {
		p.env = p.env.Set(v.name, v.value)
		if slices.Contains(p.tempVars, v.name) {
			p.tempVars = slices.DeleteFunc(slices.Clone(p.tempVars), func(name string) bool { return name == v.name })
		}
	}
	return nil
}

func (p *commandPlan) addVariable(e hcl.KeyValue, secret bool) error {
	if !program.IsVariableName(e.Name) {
		return fmt.Errorf("%q is not the name of an environment variable", e.Name)
	}
	text, err := program.VariableText(e.Name, e.Value)
	if err != nil {
		return err
	}
	p.variables = append(p.variables, variable{e.Name, text, secret})
	if secret {
		p.secrets = append(p.secrets, text)
	}
	return nil
}

func (a *action) planStdin(f *hcl.Frame, p *commandPlan) error {
	if a.block.Stdin == nil {
		return nil
	}
	v, err := a.block.Stdin.Eval(f)
	if file, ok := v.(value.File); ok && err == nil {
		facts := file.Info()
		p.stdinFile = facts.Summary()
		v, err = value.ResolveContent(v)
	}
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		return nil
	case value.Bytes:
		p.stdin = v
	default:
		text, err := value.Text(v)
		if err != nil {
			return err
		}
		p.stdin = []byte(text)
	}
	return nil
}
