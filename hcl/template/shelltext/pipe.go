package shelltext

import (
	"errors"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// A Pipe is a list of commands, each reading what the one before it writes. It is immutable and
// safe for concurrent use.
type Pipe struct {
	stages []stage
}

// stage is one command, or a condition that chooses one or none.
type stage struct {
	argv      *Argv // nil with a nil cond is a null: no command
	cond      template.Value
	then, els *stage
}

// CompilePipe checks the stages of a pipe: each is a Group, a written null, or a condition between
// them. The Pipe is nil when there are errors. That there are no stages at all is a diagnostic
// without a place.
func CompilePipe(stages []Arg) (*Pipe, hclv2.Diagnostics) {
	var d diagnostics
	p := &Pipe{}
	sure := false
	for i := range stages {
		p.stages = append(p.stages, compileStage(&stages[i], &d))
		if reader := p.stages[i].codeReader(); reader != "" && p.fedByCaller(i) {
			d.errorf(stages[i].Range, "Value in a program's code",
				`%s runs what it reads, and here it reads what a stage before it makes of a value. Give it `+
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

// ReadsProgram names the program of a first stage that runs what it reads on its standard input, or
// returns "".
func (p *Pipe) ReadsProgram() string { return p.stages[0].codeReader() }

// fedByCaller reports that a stage before i has a word whose text a caller chooses.
func (p *Pipe) fedByCaller(i int) bool {
	for _, s := range p.stages[:i] {
		if s.callerControlled() {
			return true
		}
	}
	return false
}

// codeReader names the program of the stage that runs what it reads, in any branch.
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

// alwaysRuns reports that there is a command in every call.
func (s *stage) alwaysRuns() bool {
	if s.cond != nil {
		return s.then.alwaysRuns() && s.els.alwaysRuns()
	}
	return s.argv != nil
}

// Bind returns the words of every stage of one call, at least one stage. Its errors are sentences
// for the model that made the call.
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
