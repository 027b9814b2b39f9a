package shelltext

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect checks the source or target of a redirection, and returns the scope with the input that
// it sets. A descriptor other than the standard input is a place like a file; see the constant stored.
func (a *taintWalk) redirect(r *syntax.Redirect, sc scope) scope {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") { // the shell chooses a number and assigns it
		a.noteTexts(strings.Trim(r.N.Value, "{}"), anyText)
	}
	opens := func(t taint) scope {
		if isInput(r) {
			return sc.reading(t)
		}
		a.join(a.vars, stored, t)
		return sc
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil || rawDelimiter(r.Word) {
			return opens(taint{})
		}
		return opens(a.parts(r.Hdoc.Parts, sc.reading(taint{})).computed())
	case syntax.WordHdoc:
		return opens(a.word(r.Word, sc).computed())
	}
	if p := processOf(r.Word); p != nil {
		t := a.process(p, sc)
		if r.Op == syntax.RdrIn {
			return opens(t)
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
	texts := a.wordTexts(r.Word, sc)
	switch {
	case r.Op == syntax.DplIn || r.Op == syntax.DplOut && isInput(r):
		return opens(a.duplicated(texts, sc))
	case r.Op != syntax.RdrIn && r.Op != syntax.RdrInOut:
		return sc
	case slices.ContainsFunc(texts, mayBeDescriptor):
		return opens(sc.stdin.max(a.vars[stored]))
	}
	return opens(a.vars[stored].max(a.mentions(texts)))
}

// isInput reports whether a redirection is one of the standard input.
func isInput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return r.N == nil || r.N.Value == "0"
	}
	return r.Op == syntax.DplOut && r.N != nil && r.N.Value == "0"
}

// duplicated returns the taint of what can be read from a descriptor that a redirection duplicates.
func (a *taintWalk) duplicated(descriptors []string, sc scope) (t taint) {
	for _, d := range descriptors {
		switch d = strings.TrimSuffix(d, "-"); d {
		case "": // closed
		case "0":
			t = t.max(sc.stdin)
		default:
			t = t.max(sc.stdin).max(a.vars[stored])
		}
	}
	return t
}

// The names of variables for what a script keeps outside of its variables. The analysis does not tell the
// stored apart.
const (
	stored     = "\x00places" // everything that the script writes to files and descriptors, or binds to descriptors
	shellInput = "\x00input"  // the standard input that exec redirects
	allOutput  = "\x00output" // everything that the script writes
)

// noteExec records what exec without a command redirects for the rest of the script.
func (a *taintWalk) noteExec(s *syntax.Stmt, sc scope) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || staticText(call.Args[len(call.Args)-1]) != "exec" {
		return
	}
	for _, r := range s.Redirs {
		switch {
		case isInput(r):
			a.join(a.vars, shellInput, sc.stdin)
		case writesFile(r):
			a.noteWritten(a.wordTexts(r.Word, sc), a.vars[allOutput])
		}
	}
}

// writesFile reports whether a redirection writes to the file that its word names.
func writesFile(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
		return r.Word.Lit() != "/dev/null" && processOf(r.Word) == nil
	case syntax.DplOut: // bash writes to a file that is no number
		return !isDescriptorNumber(r.Word.Lit())
	}
	return false
}

func isDescriptorNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789-") == "" }

// noteFileOutput records the taint of a statement's output to a file or a descriptor.
func (a *taintWalk) noteFileOutput(s *syntax.Stmt, out taint, sc scope) {
	a.join(a.vars, allOutput, out)
	for _, r := range s.Redirs {
		if writesFile(r) {
			a.join(a.vars, stored, out)
			a.noteWritten(a.wordTexts(r.Word, sc), out)
		}
		if d := r.Word.Lit(); r.Op == syntax.DplOut && d != "1" && d != "2" && d != "-" {
			a.join(a.vars, stored, out)
		}
	}
}

// noteWritten records what the script writes to the file that a word with these texts names.
func (a *taintWalk) noteWritten(texts []string, t taint) {
	for _, text := range texts {
		a.join(a.written, fileKey(text), t)
	}
}

// noteCopied records what a command writes to the files that its operands name: the last one, or any of them.
func (a *taintWalk) noteCopied(operands []word, t taint, toLast bool) {
	for _, w := range operands {
		t = t.max(a.contents(w.texts))
	}
	a.join(a.vars, stored, t)
	if toLast && len(operands) > 0 {
		operands = operands[len(operands)-1:]
	}
	for _, w := range operands {
		a.noteWritten(w.texts, t)
	}
}

// contents returns the taint of a file of which a word with these texts is the name.
func (a *taintWalk) contents(texts []string) (t taint) {
	t = a.mentions(texts)
	for _, text := range texts {
		if mayBeDescriptor(text) {
			t = t.max(a.vars[stored])
		}
		if strings.HasPrefix(path.Clean(optionArgument(text)), "/proc/") { // also environ and cmdline
			t = t.max(a.unknownTaint())
		}
		key := fileKey(text)
		for _, written := range slices.Sorted(maps.Keys(a.written)) {
			if mayBeEqual(key, written) {
				t = t.max(a.written[written])
			}
		}
	}
	return t
}

// mayBeDescriptor reports whether a text may name a descriptor, as /dev/fd/3 does. The shell may have changed
// to the directory before, so that the last part of the name is enough.
func mayBeDescriptor(text string) bool {
	name := optionArgument(text)
	if strings.Contains(name, anyText) {
		return slices.ContainsFunc(descriptorNames, func(p string) bool { return mayBeEqual(path.Clean(name), p) })
	}
	last := path.Base(name)
	return strings.Contains(name, "/") && (last == "stdin" || strings.Trim(last, "0123456789") == "") ||
		strings.HasPrefix(path.Clean(name), "/proc/")
}

var descriptorNames = []string{"/dev/stdin", "/dev/fd/" + anyText, "/proc/" + anyText}

// optionArgument returns a name of a file without the option before it in the same word.
func optionArgument(text string) string {
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		return text[i+1:]
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		return text[2:]
	}
	return text
}

// fileKey identifies a file by the last part of its name, also after the name of an option.
func fileKey(text string) string { return path.Base(optionArgument(text)) }

// checkProgramFile reports a file that the script writes with a value of the call and then runs.
func (a *taintWalk) checkProgramFile(w word, stdin taint) {
	if w.node == nil {
		return
	}
	if slices.ContainsFunc(w.texts, mayBeDescriptor) {
		if w.constant && standardFile(w.text) {
			stdin = taint{} // readsProgram knows it
		}
		if t := stdin.max(a.vars[stored]); t.level > trusted {
			a.errorAt(w.node, "Value in a program's code",
				`This file may be a descriptor or another file that the script gives %s, and it is run. Keep the `+
					`program constant, and give it the value as an argument or a file of data.`, t.from)
		}
	}
	if t := a.contents(w.texts).max(a.mentionsPattern(w.texts)); t.level > trusted {
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
