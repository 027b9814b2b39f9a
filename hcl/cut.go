package hcl

import (
	"fmt"
	"slices"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// TruncateAttr declares the argument truncate of a block whose output limit may cut.
func TruncateAttr(dst *bool, limit string) Field {
	return Attr(dst, "truncate", "Whether the tool may work with what "+limit+" has cut. Otherwise a cut output can "+
		"only be the answer of a tool with one backend, which says so; every other use of it fails the call.").
		DefaultDoc("false")
}

// CutMembers returns the facts of an output of which a limit of the block may cut these members.
func CutMembers(names ...string) eval.Facts {
	f := eval.Facts{Members: map[string]*eval.Facts{}}
	for _, name := range names {
		f.Members[name] = &eval.Facts{Cuts: []*eval.Cut{{Member: name}}}
	}
	return f
}

// CutInList returns the facts of an output with a list of outputs, of which a limit may cut these members.
func CutInList(list string, names ...string) eval.Facts {
	elem := CutMembers(names...)
	return eval.Facts{Members: map[string]*eval.Facts{list: {Elem: &elem}}}
}

// deliverDefault records that the answer is the default result of the only backend.
func (w *operationDecoder) deliverDefault() {
	for _, s := range w.op.Steps {
		effects := s.Backend.Effects
		result := effects.Default
		for _, name := range append([]string{result.Member, result.Text}, result.Members...) {
			if m := effects.Facts.Members[name]; m != nil {
				w.deps.Delivered = append(w.deps.Delivered, m.HeldCuts()...)
			}
		}
	}
}

// requireWhole tells each backend which members of its output are used as all there is, and which
// the answer holds. It warns about a limit that its author did not write and that will cut them.
func (w *operationDecoder) requireWhole() {
	w.findStreams()
	for _, s := range w.op.Steps {
		b := s.Backend
		if s.Streams {
			continue // without a limit
		}
		before := len(b.Whole)
		var use Range
		for _, cut := range b.Effects.Facts.HeldCuts() {
			if at, used := w.deps.Whole[cut]; used && !slices.Contains(b.Whole, cut.Member) {
				b.Whole, use = append(b.Whole, cut.Member), at
			}
			if slices.Contains(w.deps.Delivered, cut) {
				b.Delivered = append(b.Delivered, cut.Member)
			}
		}
		if len(b.Whole) == before {
			continue
		}
		for _, x := range diag.ToDiagnostics(b.Effects.Unlimited, "Output may be cut", b.Range, b.ranges) {
			x.Severity = diag.Warning
			x.Detail += fmt.Sprintf(" Line %d uses all of them, so calls fail when there are more. Write a limit that "+
				"fits, or truncate = true to work with a part.", use.Start.Line)
			w.dec.Diags = append(w.dec.Diags, x)
		}
	}
}

// rowSource is the Config of a backend whose rows another block may read as they arrive, without a
// limit.
type rowSource interface{ StreamsRows() bool }

// rowSink is the Config of a backend that can write rows as they arrive.
type rowSink interface {
	// StreamedRows returns the argument that gives the rows; nil for none.
	StreamedRows() *Expr
}

// findStreams finds the steps whose output nothing but the next step reads, as the rows that it
// writes.
func (w *operationDecoder) findStreams() {
	for i, next := range w.op.Steps[min(1, len(w.op.Steps)):] {
		s := w.op.Steps[i]
		source, isSource := s.Backend.Config.(rowSource)
		sink, isSink := next.Backend.Config.(rowSink)
		if !isSource || !isSink || !source.StreamsRows() {
			continue
		}
		rows, result := sink.StreamedRows(), w.results[s.Name]
		s.Streams = s.runsOnce() && next.Each == nil && next.Repeat == nil && rows != nil &&
			rows.Typed.Path == "step."+s.Name+".rows" && result.Reads == 1
	}
}

// runsOnce reports whether the step always runs its backend once and tests nothing of its output.
func (s *Step) runsOnce() bool {
	return s.When == nil && s.Each == nil && s.Repeat == nil && !s.ContinueOnError && len(s.Expects) == 0
}
