package shelltext

import (
	"cmp"
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

	codeReader       string // the program that runs its standard input as code, in any branch
	callerControlled bool   // a word contains text that the caller chooses
	alwaysRuns       bool   // it has a command in every call
}

// CompilePipe checks the stages of a pipe. Each is a Group, a literal null, or a condition between
// them. The Pipe is nil if there are errors. The diagnostic for an empty pipe has no range.
func CompilePipe(stages []Arg) (*Pipe, hclv2.Diagnostics) {
	var d template.Diagnostics
	var at hclv2.Range
	p := &Pipe{}
	fedByCaller, sure := false, false
	for i := range stages {
		at = stages[0].Range
		s := compileStage(&stages[i], &d)
		if s.codeReader != "" && fedByCaller {
			d.Errorf(stages[i].Range, "Value in a program's code",
				`%s runs its standard input as code, and here the input contains a value of the call. Give it its `+
					`program as constant text and the value as an argument.`, s.codeReader)
		}
		fedByCaller, sure = fedByCaller || s.callerControlled, sure || s.alwaysRuns
		p.stages = append(p.stages, s)
	}
	if !sure && !d.HasErrors() {
		d.Errorf(at, "Pipe may be empty",
			`At least one stage of a pipe must be there in every call: pipe = [["ps"], ["sort"]].`)
	}
	return template.Result(p, &d)
}

func compileStage(a *Arg, d *template.Diagnostics) stage {
	switch {
	case a.Group != nil:
		argv := compileArgv(a.Group, a.Range, d)
		return stage{argv: argv, codeReader: argv.codeReader, callerControlled: argv.callerControlled, alwaysRuns: true}
	case a.Cond != nil:
		then, els := compileStage(a.Then, d), compileStage(a.Else, d)
		return stage{cond: a.Cond, then: &then, els: &els, codeReader: cmp.Or(then.codeReader, els.codeReader),
			callerControlled: then.callerControlled || els.callerControlled,
			alwaysRuns:       then.alwaysRuns && els.alwaysRuns}
	case a.Text != nil || a.Value != nil:
		d.Errorf(a.Range, "Stage is not a list",
			`Each stage of a pipe is a written list of words or null, and this is %[1]s. Write [%[1]s].`, a.source())
	}
	return stage{}
}

// ReadsProgram returns the program of a first stage that runs its standard input as code, or "".
func (p *Pipe) ReadsProgram() string { return p.stages[0].codeReader }

// Constants returns the words that are the same in every call, of all stages and branches.
func (p *Pipe) Constants() (words []string) {
	for i := range p.stages {
		words = p.stages[i].appendConstants(words)
	}
	return words
}

func (s *stage) appendConstants(words []string) []string {
	switch {
	case s.cond != nil:
		return s.els.appendConstants(s.then.appendConstants(words))
	case s.argv != nil:
		return append(words, s.argv.Constants()...)
	}
	return words
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
	yes, err := template.Truth(s.cond, f)
	if err != nil {
		return nil, err
	}
	if yes {
		return s.then.choose(f)
	}
	return s.els.choose(f)
}
