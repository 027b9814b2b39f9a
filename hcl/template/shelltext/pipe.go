package shelltext

import (
	"errors"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// A Pipe is a list of commands, each of which reads the output of the previous one. It is immutable
// and safe for concurrent use.
type Pipe struct {
	stages []stage
}

// stage is one command, or a condition that chooses one or none.
type stage struct {
	argv      *Argv // nil for a condition, or with a nil cond for no command
	cond      template.Value
	then, els *stage
}

// CompilePipe checks the stages of a pipe. Each is a Group, a literal null, or a condition between
// them. The Pipe is nil if there are errors. The diagnostic for an empty pipe has no range.
func CompilePipe(stages []Arg) (*Pipe, hclv2.Diagnostics) {
	var d diagnostics
	p := &Pipe{}
	sure := false
	for i := range stages {
		p.stages = append(p.stages, compileStage(&stages[i], &d))
		if reader := p.stages[i].codeReader(); reader != "" && p.fedByCaller(i) {
			d.errorf(stages[i].Range, "Value in a program's code",
				`%s runs its standard input as code, and here the input contains a value of the call. Give it `+
					`its program as constant text and the value as an argument.`, reader)
		}
		sure = sure || p.stages[i].alwaysRuns()
	}
	if !sure && !d.list.HasErrors() {
		var at hclv2.Range
		if len(stages) > 0 {
			at = stages[0].Range
		}
		d.errorf(at, "Pipe may be empty",
			`At least one stage of a pipe must be there in every call: pipe = [["ps"], ["sort"]].`)
	}
	if d.list.HasErrors() {
		return nil, d.final()
	}
	return p, d.list
}

func compileStage(a *Arg, d *diagnostics) stage {
	switch {
	case a.Group != nil:
		return stage{argv: compileArgv(a.Group, a.Range, d)}
	case a.Cond != nil:
		then, els := compileStage(a.Then, d), compileStage(a.Else, d)
		return stage{cond: a.Cond, then: &then, els: &els}
	case a.Text != nil || a.Value != nil:
		d.errorf(a.Range, "Stage is not a list",
			`Each stage of a pipe is a written list of words or null, and this is %s. Write [%s].`, a.source(),
			a.source())
	}
	return stage{}
}

// ReadsProgram returns the program of a first stage that runs its standard input as code, or "".
func (p *Pipe) ReadsProgram() string { return p.stages[0].codeReader() }

// fedByCaller reports whether a stage before i has a word whose text the caller chooses.
func (p *Pipe) fedByCaller(i int) bool {
	for _, s := range p.stages[:i] {
		if s.callerControlled() {
			return true
		}
	}
	return false
}

// codeReader returns the program of the stage that runs its input as code, in any branch.
func (s *stage) codeReader() string {
	switch {
	case s.argv != nil:
		return s.argv.codeReader
	case s.cond == nil:
		return ""
	case s.then.codeReader() != "":
		return s.then.codeReader()
	}
	return s.els.codeReader()
}

func (s *stage) callerControlled() bool {
	if s.cond != nil {
		return s.then.callerControlled() || s.els.callerControlled()
	}
	return s.argv != nil && s.argv.callerControlled
}

// alwaysRuns reports whether the stage has a command in every call.
func (s *stage) alwaysRuns() bool {
	if s.cond != nil {
		return s.then.alwaysRuns() && s.els.alwaysRuns()
	}
	return s.argv != nil
}

// Bind returns the words of every stage of one call, and at least one stage. The error is a
// sentence for the model that made the call.
func (p *Pipe) Bind(f template.Frame) ([][]string, error) {
	out := make([][]string, 0, len(p.stages))
	for i := range p.stages {
		argv, err := p.stages[i].choose(f)
		if err != nil {
			return nil, err
		}
		if argv == nil {
			continue
		}
		words, err := argv.Bind(f, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, words)
	}
	if len(out) == 0 {
		return nil, errors.New("no command is left to run")
	}
	return out, nil
}

func (s *stage) choose(f template.Frame) (*Argv, error) {
	if s.cond == nil {
		return s.argv, nil
	}
	yes, err := truth(s.cond, f)
	if err != nil {
		return nil, err
	}
	if yes {
		return s.then.choose(f)
	}
	return s.els.choose(f)
}
