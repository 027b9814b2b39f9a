package result

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/internal/detect"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/rows"
)

// Result is the result of a call. It must not be used concurrently.
type Result struct {
	Value     any
	HasValue  bool          // Value is set; it may be null
	HasText   bool          // Buffers holds the text, from the author or the backend
	HasBlocks bool          // Buffers holds content blocks
	Cut       *adapters.Cut // the limit that has cut the output of the backend; nil for none
	Failures  adapters.Failures
	Received  adapters.Received
	Lifted    []string       // the masks that showed the caller values of which it may be made
	Detect    *eval.Detector // of the caller
	Meta      []byte         // that the author declares, an object as encoded JSON; nil for none
	Page      *Page          // nil for all rows

	columns *schema.Type // of rows, as the backend has told them; nil for none
	*Buffers
}

// Shaper makes the results of one tool. It is safe for concurrent use, and immutable except for the
// probed type.
type Shaper struct {
	*Writer
	tool       *hcl.Tool
	detects    detect.Kinds // in the texts of the result, for some callers
	returns    *schema.Type // that the tool declares; nil for none
	defaults   defaultResult
	probedType atomic.Pointer[schema.Type] // of the default result; nil until the backend was asked
}

// NewShaper returns the Shaper of a tool.
func NewShaper(t *hcl.Tool, w *Writer) *Shaper {
	if w != nil {
		w.MaxTokens = t.MaxTokens
	}
	s := &Shaper{Writer: w, tool: t, returns: t.Returns, defaults: newDefaultResult(t)}
	s.Detect(t.Detectors)
	return s
}

// Detect says that texts of the result are looked through for some callers, before the Shaper is used.
func (s *Shaper) Detect(masks []*hcl.Mask) {
	for _, m := range masks {
		s.detects |= m.Detect
	}
	if s.detects != 0 {
		s.returns, s.defaults.schema = s.sentType(s.returns), s.sentType(s.defaults.schema)
	}
}

// sentType returns the type of a result after texts of it were looked through.
func (s *Shaper) sentType(t *schema.Type) *schema.Type {
	if s.detects == 0 {
		return t
	}
	return t.WithoutForms(func(text string) bool {
		var n detect.Counts
		return s.detects.Text(text, &n) != text
	})
}

// OutputType returns the type that the tool advertises as its outputSchema, nil for none.
func (s *Shaper) OutputType() *schema.Type {
	t := s.resultType()
	if !s.tool.SendsStructured() {
		return nil
	}
	if s.tool.Projection != nil {
		t = rows.ProjectType(t, s.tool.Projection.Offer)
	}
	if s.tool.Page != nil {
		t = pageType(t)
	}
	return t
}

// resultType returns the type of the structured result before callers choose from it; nil when it is unknown.
func (s *Shaper) resultType() *schema.Type {
	if s.returns != nil {
		return s.returns
	}
	if t := s.probedType.Load(); t != nil {
		return t
	}
	return s.defaults.schema
}

// ProbedType returns the type that was learned by asking the backend, nil for none.
func (s *Shaper) ProbedType() *schema.Type { return s.probedType.Load() }

// SetProbedType sets the type that was learned by asking the backend.
func (s *Shaper) SetProbedType(t *schema.Type) { s.probedType.Store(s.sentType(t)) }

// LearnRows takes the type of a row, or of the rows, from the backend. It reports whether the
// advertised type of the tool has changed.
func (s *Shaper) LearnRows(rows *schema.Type) bool {
	known := s.defaults.schema
	if rows == nil || known == nil || s.tool.Returns != nil {
		return false
	}
	rows = s.tool.Steps[0].Backend.MaskedType(rows, s.defaults.member)
	if known.Kind == schema.List && rows.Kind == schema.Object {
		rows = schema.ListOf(rows)
	}
	if known.Kind != rows.Kind {
		return false
	}
	s.SetProbedType(rows)
	return true
}

// Shape makes the result from the outputs of a call. The error is a sentence for the model.
func (s *Shaper) Shape(r *Result, f *hcl.Frame) error {
	r.Detect = f.Detect
	if err := s.shapeValue(r, f); err != nil {
		return err
	}
	if err := s.shapeText(r, f); err != nil {
		return failure.AsFault(err)
	}
	return s.shapeMeta(r, f)
}

// shapeValue computes the structured result and validates it against the declared type.
func (s *Shaper) shapeValue(r *Result, f *hcl.Frame) (err error) {
	switch {
	case s.tool.Result != nil:
		r.Value, err = s.tool.Result.Eval(f, f.Output)
		r.HasValue = true
	case s.defaults.member != "" || s.defaults.members != nil:
		r.Value, err = s.defaults.value(f.Output)
		// another server may answer with content alone, unless the tool declares what it returns
		if absent, ok := r.Value.(interface{ IsAbsent() bool }); ok && absent.IsAbsent() {
			r.Value = nil
		}
		r.HasValue = s.defaults.content == "" || r.Value != nil || s.tool.Returns != nil
	}
	if err != nil {
		return failure.AsFault(err)
	}
	if s.tool.ReturnsValidator == nil || !r.HasValue {
		return nil
	}
	if form, ok := formError(r.Value); ok && s.tool.Result == nil {
		return &adapters.Fault{Message: wrongForm + form.Text, Change: adapters.ChangeDone}
	}
	ctx, cancel := context.WithTimeout(f.Context, s.tool.Timeout) // the frame has none after backends were called
	defer cancel()
	time := &functions.Context{Call: ctx}
	checked, violations, err := s.tool.ReturnsValidator.Check(r.Value, time)
	if len(violations) > 0 && s.tool.Result == nil { // a service may answer with more than the tool promises
		without := s.tool.Returns.WithoutUndeclared(r.Value)
		checked, violations, err = s.tool.ReturnsValidator.Check(without, time)
	}
	if err != nil {
		const format = "checking the result against the type that this tool declares took longer than the timeout of %s"
		return &adapters.Fault{Message: fmt.Sprintf(format, failure.FormatDuration(s.tool.Timeout)), Cause: err}
	}
	if len(violations) > 0 && s.defaults.content != "" {
		return &adapters.Fault{Message: wrongForm + joinViolations(violations), Change: adapters.ChangeDone}
	}
	if len(violations) > 0 {
		const text = "the result does not match the type that this tool declares, so it was not sent:\n"
		return &adapters.Fault{Message: text + ListViolations(violations)}
	}
	r.Value = checked
	return nil
}

// shapeText renders the text or the content blocks. It runs after the tool has acted, so it fails
// only where a value has no text at all.
func (s *Shaper) shapeText(r *Result, f *hcl.Frame) (err error) {
	switch {
	case len(s.tool.Content) > 0:
		r.HasBlocks = true
		r.Blocks, err = s.appendContent(r.Blocks, f)
	case s.tool.Text != nil:
		r.HasText = true
		r.Text, err = s.tool.Text.Append(r.Text, f)
	case s.defaults.content != "":
		return s.shapeContent(r, f)
	case s.defaults.text != "" && !r.HasValue:
		r.HasText = true
		m, err := Members(f.Output)
		if err != nil {
			return err
		}
		r.Text, err = AppendText(r.Text, m[s.defaults.text])
		return err
	}
	return err
}

// appendContent appends the content blocks whose condition is true in written order, after the text
// if there is one.
func (s *Shaper) appendContent(dst []byte, f *hcl.Frame) (_ []byte, err error) {
	dst = append(dst, '[')
	if s.tool.Text != nil {
		text, err := s.tool.Text.Append(nil, f)
		if err != nil {
			return nil, err
		}
		dst = s.appendTextBlock(dst, text, f)
	}
	if dst, err = s.appendBlocks(dst, "", s.tool.Content, f); err != nil {
		return nil, err
	}
	return append(dst, ']'), nil
}

// ListViolations writes one line for each violation.
func ListViolations(violations []schema.Violation) string {
	lines := make([]string, len(violations))
	for i, v := range violations {
		lines[i] = "- " + v.String()
	}
	return strings.Join(lines, "\n")
}

// defaultResult is the source of the result of a tool that declares none.
type defaultResult struct {
	member  string   // member of the output that is the value
	members []string // members of the output that are the value, as an object
	text    string   // member of the output that is sent as text alone
	content string   // member of the output that is the content

	schema     *schema.Type // type of the value; nil when unknown
	structured bool         // the value is sent as structuredContent
}

func newDefaultResult(t *hcl.Tool) (d defaultResult) {
	defer func() { d.structured = (d.structured || t.Page != nil) && t.SendsStructured() }()
	hasText := t.Text != nil || len(t.Content) > 0
	switch {
	case t.Result != nil:
		d.structured = true
		return d
	case len(t.Steps) != 1 || t.HasNamedSteps() || hasText && t.Returns == nil:
		return d
	}
	effects := t.Steps[0].Backend.Effects
	d.member, d.members, d.text = effects.Default.Member, effects.Default.Members, effects.Default.Text
	if d.content = effects.Default.Content; d.content != "" { // what another server promises is no promise of the tool
		d.structured = true
		if hasText { // returns is set
			d.content = ""
		}
		return d
	}
	d.schema = effects.DefaultType()
	d.structured = t.Returns != nil || d.schema != nil
	return d
}

// value returns the default result of an output.
func (d *defaultResult) value(output any) (any, error) {
	return DefaultValue(hcl.DefaultResult{Member: d.member, Members: d.members}, output)
}

// DefaultValue returns the default result of the output of a backend: its structured result, or else its text.
func DefaultValue(d hcl.DefaultResult, output any) (any, error) {
	m, err := Members(output)
	if err != nil {
		return nil, err
	}
	switch {
	case d.Member != "":
		return m[d.Member], nil
	case len(d.Members) == 0:
		return m[d.Text], nil
	}
	out := make(map[string]any, len(d.Members))
	for _, name := range d.Members {
		if v, ok := m[name]; ok {
			out[name] = v
		}
	}
	return out, nil
}
