package shelltext

import (
	"cmp"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect checks the source or target of a redirection, and returns the scope with the input that
// it sets.
func (a *taintWalk) redirect(r *syntax.Redirect, sc scope) scope {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil || rawDelimiter(r.Word) {
			return sc.reading(taint{})
		}
		return sc.reading(a.parts(r.Hdoc.Parts, sc.reading(taint{})).computed())
	case syntax.WordHdoc:
		return sc.reading(a.word(r.Word, sc).computed())
	}
	if p := processOf(r.Word); p != nil {
		t := a.process(p, sc)
		if r.Op == syntax.RdrIn {
			return sc.reading(t)
		}
		return sc
	}
	if t := a.word(r.Word, sc); t.loose {
		if h := a.asValue(r.Word); h != nil {
			a.errorAt(r.Word, "Value as a redirection target",
				`%s would name any file. Keep it below a folder: %s${under("/folder", %s)}.`, t.from, r.Op, h.Source)
		} else {
			a.errorAt(r.Word, "Value as a redirection target",
				`%s holds %s, which would name any file. Write the whole path as one value, ${under("/folder", ...)}.`,
				cmp.Or(strings.Trim(a.sourceOf(r.Word), `"`), "The target"), t.from)
		}
	}
	switch {
	case r.N != nil && r.N.Value != "0":
	case (r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut) && standardFile(r.Word.Lit()):
		return sc.reading(sc.stdin.max(a.vars[files]))
	case r.Op == syntax.RdrIn, r.Op == syntax.RdrInOut:
		return sc.reading(a.vars[files])
	case r.Op == syntax.DplIn:
		return sc.reading(a.unknownTaint())
	}
	return sc
}

// files is the name of a variable for everything that the script writes to files.
const files = "\x00files"

// noteFileOutput records the taint of a statement's output to a file.
func (a *taintWalk) noteFileOutput(s *syntax.Stmt, out taint) {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			if r.Word.Lit() != "/dev/null" && processOf(r.Word) == nil {
				a.join(a.vars, files, out)
				a.noteWritten(r.Word, out)
			}
		}
	}
}

// noteWritten records what the script writes to a file.
func (a *taintWalk) noteWritten(w *syntax.Word, t taint) { a.join(a.written, fileKey(w), t) }

// noteCopied records what a command writes to the files that its operands name: the last one, or any of them.
func (a *taintWalk) noteCopied(operands []word, t taint, toLast bool) {
	for _, w := range operands {
		t = t.max(a.written[fileKey(w.node)])
	}
	a.join(a.vars, files, t)
	if toLast && len(operands) > 0 {
		operands = operands[len(operands)-1:]
	}
	for _, w := range operands {
		a.noteWritten(w.node, t)
	}
}

// fileKey identifies a file by the last part of its name as it is written, also after the name of an option.
func fileKey(w *syntax.Word) string {
	var text strings.Builder
	_ = syntax.NewPrinter().Print(&text, w) // writing to memory does not fail
	name := strings.NewReplacer(`"`, "", "'", "", "{", "", "}", "").Replace(text.String())
	if i := strings.LastIndexByte(name, '='); i >= 0 {
		name = name[i+1:]
	} else if len(name) > 2 && name[0] == '-' && name[1] != '-' {
		name = name[2:]
	}
	return path.Base(name)
}

// checkProgramFile reports a file that the script writes with a value of the call and then runs.
func (a *taintWalk) checkProgramFile(w word) {
	if w.node == nil {
		return
	}
	if t := a.written[fileKey(w.node)]; t.level > trusted {
		a.errorAt(w.node, "Value in a program's code",
			`The script writes %s to this file and runs it. Keep the program constant, and give it the value as an `+
				`argument or a file of data.`, t.from)
	}
}

func processOf(w *syntax.Word) *syntax.ProcSubst {
	if len(w.Parts) != 1 {
		return nil
	}
	p, _ := w.Parts[0].(*syntax.ProcSubst)
	return p
}

// asValue returns the interpolation that forms the whole word, or nil.
func (a *taintWalk) asValue(w *syntax.Word) *scriptValue {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return nil
	}
	if p, ok := parts[0].(*syntax.ParamExp); ok && p.Param != nil {
		return a.values[p.Param.Value]
	}
	return nil
}
