package surface

import (
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl"
)

// Answer is how the result of a tool is sent.
type Answer struct {
	Formats    []string `json:"formats,omitempty"` // the default first; JSON with structured content without
	Structured bool     `json:"structured,omitempty"`
	Offered    []string `json:"offered,omitempty"` // members that callers may choose; all are sent without
	Default    []string `json:"default,omitempty"` // those that a call receives which chooses none
	MaxTokens  int      `json:"max_tokens,omitempty"`
	Page       *Page    `json:"page,omitempty"` // nil for all rows in one answer
}

// Page is how a tool answers in pages.
type Page struct {
	Size  int            `json:"size"`
	Total int            `json:"total"`
	Keys  map[string]any `json:"keys,omitempty"` // decoded JSON Schemas
	TTL   float64        `json:"ttl"`            // seconds
}

// answerCovered are the arguments of a tool that its Answer has.
var answerCovered = []string{"format", "structured", "projection", "max_tokens", "page"}

func answerOf(t *hcl.Tool) (out Answer) {
	if t.HasTables() || len(t.Formats) > 1 {
		out.Formats = t.Formats
	}
	out.Structured, out.MaxTokens = t.Structured, t.MaxTokens
	if p := t.Projection; p != nil {
		out.Offered, out.Default = p.Offer, p.Default
	}
	if p := t.Page; p != nil {
		out.Page = &Page{Size: p.Size, Total: p.Total, TTL: p.TTL.Seconds()}
		if p.Keys != nil {
			out.Page.Keys = map[string]any{}
			for _, m := range p.Keys.Members {
				out.Page.Keys[m.Name] = decodeSchema(m.Type)
			}
		}
	}
	return out
}

func (a *Answer) sendsStructured() bool {
	return a.Structured || !slices.ContainsFunc(a.Formats, func(name string) bool { return name != "json" })
}

// inputs returns the names of the inputs that the answer adds.
func (a *Answer) inputs() (names []string) {
	if len(a.Formats) > 1 {
		names = append(names, hcl.FormatInput)
	}
	if a.Offered != nil {
		names = append(names, hcl.FieldsInput)
	}
	if a.Page != nil {
		names = append(names, hcl.CursorInput)
	}
	return names
}

// answerInputs returns the inputs that the answer of a tool adds on one side, and on the other side, too, if there is
// such an input. They are compared as parts of the answer.
func answerInputs(a, b *Tool) (names []string) {
	old, new := a.Answer.inputs(), b.Answer.inputs()
	for _, name := range []string{hcl.FormatInput, hcl.FieldsInput, hcl.CursorInput} {
		was, is := slices.Contains(old, name), slices.Contains(new, name)
		if (was || is) && was == slices.Contains(a.Order, name) && is == slices.Contains(b.Order, name) {
			names = append(names, name)
		}
	}
	return names
}

// isAnswerInput reports whether a path of the inputs is that of an input that the answer adds.
func (c *comparison) isAnswerInput(path string) bool {
	return slices.ContainsFunc(c.answerInputs, func(name string) bool {
		rest, ok := strings.CutPrefix(path, "."+name)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// answer compares how results are sent.
func (c *comparison) answer(at string, a, b *Answer) {
	class, more := Behaviour, ""
	switch was, is := a.sendsStructured(), b.sendsStructured(); {
	case was && !is:
		class, more = Breaking, ": results have no structured content any more"
	case !was && is:
		more = ": results have structured content"
	}
	if more != "" || shownFormats(a) != shownFormats(b) {
		for _, name := range missing(a.Formats, b.Formats) {
			if len(a.Formats) > 1 && class != Breaking { // callers may ask for it
				class, more = Breaking, ": callers can no longer choose "+name
			}
		}
		c.add(class, "answer", at+".format", "format %s → %s%s", shownFormats(a), shownFormats(b), more)
	}
	c.projection(at+".projection", a, b)
	c.page(at+".page", a.Page, b.Page)
	if a.MaxTokens != b.MaxTokens {
		c.add(Behaviour, "answer", at+".max_tokens", "max_tokens %s → %s", countOrNone(a.MaxTokens),
			countOrNone(b.MaxTokens))
	}
}

// page compares pages. With them a result is another object, and a walk reads more than one call of the backend does.
func (c *comparison) page(at string, a, b *Page) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		c.add(Breaking, "answer", at, "page added: results are pages of %d rows, at most %d in all", b.Size, b.Total)
		c.add(Widening, "answer", at, "page added: callers may read %d rows", b.Total)
		return
	case b == nil:
		c.add(Breaking, "answer", at, "page removed: results are lists")
		return
	}
	if a.Total != b.Total {
		c.add(classIf(b.Total > a.Total), "answer", at+".total", "total %d → %d", a.Total, b.Total)
	}
	if a.Size != b.Size {
		c.add(Behaviour, "answer", at+".size", "size %d → %d", a.Size, b.Size)
	}
	if a.TTL != b.TTL {
		c.add(Behaviour, "answer", at+".ttl", "ttl %gs → %gs", a.TTL, b.TTL)
	}
	if old, new := string(canonical(a.Keys)), string(canonical(b.Keys)); old != new {
		c.add(Behaviour, "answer", at+".keys", "keys %s → %s", clip(old, maxShown), clip(new, maxShown))
	}
}

func (c *comparison) projection(at string, a, b *Answer) {
	switch {
	case a.Offered == nil && b.Offered == nil:
		return
	case a.Offered == nil:
		c.add(Breaking, "answer", at, "projection added: results have %s", strings.Join(b.Default, ", "))
		return
	case b.Offered == nil:
		c.add(Breaking, "answer", at, "projection removed: callers can no longer choose members")
		c.add(Widening, "answer", at, "projection removed: results have all members")
		return
	}
	for _, name := range missing(a.Offered, b.Offered) {
		c.add(Breaking, "answer", at+".offer", "no longer offered: %s", name)
	}
	for _, name := range missing(b.Offered, a.Offered) {
		c.add(Widening, "answer", at+".offer", "offered now: %s", name)
	}
	if !slices.Equal(a.Default, b.Default) {
		c.add(Behaviour, "answer", at+".default", "default %s → %s", strings.Join(a.Default, ", "),
			strings.Join(b.Default, ", "))
	}
}

func shownFormats(a *Answer) string {
	if len(a.Formats) == 0 {
		return "json"
	}
	return strings.Join(a.Formats, ", ")
}

func countOrNone(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}
