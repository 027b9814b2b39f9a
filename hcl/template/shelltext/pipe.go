package shelltext

import (
	"errors"
	"slices"

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
	okCodes   []int // nil: 0
	cond      *template.Condition
	then, els *stage
}

// CompilePipe checks the stages of a pipe. Each is a Group, a literal null, or a condition between
// them. The Pipe is nil if there are errors. The diagnostic for an empty pipe has no range.
func CompilePipe(stages []Arg, in Inputs) (*Pipe, hclv2.Diagnostics) {
	var d template.Diagnostics
	var at hclv2.Range
	keepRepeated(stages)
	p := &Pipe{}
	read := in.taintOfStdin()
	if in.RunsStdin && len(stages) > 0 {
		d.Errorf(stages[0].Range, "Pipe runs its input", runsStdinCommand, "a pipe")
		in.RunsStdin = false
	}
	for i := range stages {
		at = stages[0].Range
		s, out := compileStage(&stages[i], in, read, &d)
		read = read.max(out).max(in.taintOfEnv())
		p.stages = append(p.stages, s)
	}
	isCommand := func(a Arg) bool { return a.Group != nil }
	if !d.HasErrors() && !slices.ContainsFunc(stages, isCommand) && mayBeEmpty(stages) {
		d.Errorf(at, "Pipe may be empty",
			`At least one stage of a pipe must be there in every call: pipe = [["ps"], ["sort"]].`)
	}
	return template.Result(p, &d)
}

// mayBeEmpty reports whether a combination of conditions leaves no stage.
func mayBeEmpty(stages []Arg) bool {
	var choices []any
	for i := range stages {
		choices = stages[i].choices(choices, false)
	}
	empty := len(choices) > maxChoices
	if !empty {
		combine(choices, func(holds map[any]bool) {
			isCommand := func(a Arg) bool { return a.chosen(holds).Group != nil }
			empty = empty || !slices.ContainsFunc(stages, isCommand)
		})
	}
	return empty
}

// compileStage returns a stage and the taint of its output.
func compileStage(a *Arg, in Inputs, stdin taint, d *template.Diagnostics) (s stage, out taint) {
	switch {
	case a.Group != nil:
		argv, out := compileArgv(a.Group, a.Range, in, stdin, d)
		return stage{argv: argv, okCodes: a.OKCodes}, out
	case a.Cond != nil:
		then, out := compileStage(a.Then, in, stdin, d)
		els, otherwise := compileStage(a.Else, in, stdin, d)
		return stage{cond: &a.Condition, then: &then, els: &els}, out.max(otherwise)
	case a.Text != nil || a.Value != nil:
		d.Errorf(a.Range, "Stage is not a list",
			`Each stage of a pipe is a written list of words, { command = [...], ok_codes = [...] } or null, and `+
				`this is %[1]s. Write [%[1]s].`, a.source())
	}
	return stage{}, taint{}
}

// A StageWords is one command of a pipe in one call.
type StageWords struct {
	Words   []string
	OKCodes []int // the exit codes that mean success
}

// Constants returns the words that are the same in every call, of all stages and branches.
func (p *Pipe) Constants() []string { return p.words((*Argv).Constants) }

// Programs returns the names of programs that are the same in every call, of all stages and branches.
func (p *Pipe) Programs() []string { return p.words((*Argv).Programs) }

func (p *Pipe) words(of func(*Argv) []string) (words []string) {
	for i := range p.stages {
		words = p.stages[i].appendWords(words, of)
	}
	return words
}

func (s *stage) appendWords(words []string, of func(*Argv) []string) []string {
	switch {
	case s.cond != nil:
		return s.els.appendWords(s.then.appendWords(words, of), of)
	case s.argv != nil:
		return append(words, of(s.argv)...)
	}
	return words
}

var exitZero = []int{0}

// Bind returns the commands of one call, at least one. The first written stage has the exit codes
// firstOK if it has none of its own. The error is a sentence for the model that made the call.
func (p *Pipe) Bind(f template.Frame, firstOK []int) ([]StageWords, error) {
	out := make([]StageWords, 0, len(p.stages))
	b := binder{frame: f}
	for i := range p.stages {
		s, err := p.stages[i].choose(&b)
		if err != nil {
			return nil, err
		}
		if s.argv == nil {
			continue
		}
		words, err := s.argv.bind(&b, nil)
		if err != nil {
			return nil, err
		}
		codes := s.okCodes
		switch {
		case codes == nil && i == 0:
			codes = firstOK
		case codes == nil:
			codes = exitZero
		}
		out = append(out, StageWords{words, codes})
	}
	if len(out) == 0 {
		return nil, errors.New("no command is left to run")
	}
	return out, nil
}

// choose returns the stage whose command runs.
func (s *stage) choose(b *binder) (*stage, error) {
	if s.cond == nil {
		return s, nil
	}
	yes, err := b.decisions.Holds(s.cond, b.frame)
	if err != nil {
		return nil, err
	}
	if yes {
		return s.then.choose(b)
	}
	return s.els.choose(b)
}
