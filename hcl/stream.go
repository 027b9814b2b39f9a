package hcl

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
