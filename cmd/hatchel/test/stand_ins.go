package test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
)

// tapeMasks are the masks of the backends of a test, by kind and connection.
type tapeMasks struct {
	of      map[string][]*hcl.Backend
	reveals bool // a step sends what masks hide
}

// newTapeMasks returns the masks of what a test reaches.
func newTapeMasks(cfg *hcl.Config) *tapeMasks {
	m := &tapeMasks{of: map[string][]*hcl.Backend{}}
	for _, op := range operations(cfg) {
		for _, s := range op.Steps {
			m.reveals = m.reveals || s.Reveals
			m.add(s.Backend)
		}
		for _, before := range op.Before {
			for _, s := range before.Steps {
				m.add(s.Backend)
			}
		}
	}
	return m
}

func (m *tapeMasks) add(b *hcl.Backend) {
	if len(b.Masks) == 0 {
		return
	}
	connection := ""
	if b.Connection != nil {
		connection = b.Connection.Name
	}
	key := b.Kind + " " + connection
	m.of[key] = append(m.of[key], b)
}

// backends returns the backends with masks that an exchange may be of.
func (m *tapeMasks) backends(x *exchange) []*hcl.Backend {
	if m == nil {
		return nil
	}
	return m.of[x.kind+" "+x.connection]
}

// standIns are what tapes of a test have in place of what masks mask: the same for the same value, for every caller.
type standIns struct {
	masks   *tapeMasks
	kinds   hcl.Kinds
	known   map[string]any // by mask and value
	counts  map[string]int // by mask and kind of value
	secrets []Secret       // masked texts that may be elsewhere, too
	path    []string
	of      []*hcl.Backend // of the current exchange
	failed  bool           // the current exchange, whose texts may have JSON anywhere
}

func newStandIns(masks *tapeMasks, kinds hcl.Kinds) *standIns {
	return &standIns{masks: masks, kinds: kinds, known: map[string]any{}, counts: map[string]int{}}
}

// exchange returns an exchange with stand-ins in its reply.
func (s *standIns) exchange(x *exchange) (*exchange, error) {
	if s.of = s.masks.backends(x); s.of == nil {
		return x, nil
	}
	if err := s.checkText(x); err != nil {
		return nil, err
	}
	out, reply := *x, x.reply
	if unquoted := s.kinds.Mock(x.kind).Unquoted; unquoted != nil {
		reply = unquoted(reply)
	}
	out.reply = map[string]any{}
	columns, _ := reply["columns"].([]any)
	for name, v := range reply {
		s.path, s.failed = []string{name}, name == "stderr" || isFailure(reply)
		if cells, ok := v.([]any); ok && name == "cells" && columns != nil {
			out.reply[name] = s.cells(columns, cells)
			continue
		}
		out.reply[name] = s.value(v)
	}
	return &out, nil
}

// isFailure reports whether a reply is one that fails a call, so that its texts become the message.
func isFailure(reply map[string]any) bool {
	status, _ := reply["status"].(int)
	exit, _ := reply["exit"].(int)
	return status >= http.StatusMultipleChoices || exit != 0 || reply["is_error"] == true || reply["rejected"] != nil
}

// cells returns the rows of a statement with stand-ins.
func (s *standIns) cells(columns, rows []any) []any {
	out := make([]any, len(rows))
	for i, row := range rows {
		list, _ := row.([]any)
		cells := make([]any, len(list))
		for j, cell := range list {
			cells[j] = cell
			if name, ok := columns[j].(string); ok {
				s.path = []string{"rows"}
				cells[j] = s.member(name, cell)
			}
		}
		out[i] = cells
	}
	return out
}

// checkText refuses a text in which masked members cannot be found, because the backend reads it in a form of its own.
func (s *standIns) checkText(x *exchange) error {
	for _, b := range s.of {
		for text := range b.Effects.TextOf {
			for _, name := range []string{text, text + "_base64"} {
				if body, ok := x.reply[name].(string); ok && !isJSON(body) {
					return fmt.Errorf("the answer is a text that is no JSON, and could hold what mask %q hides. "+
						"Write the mock by hand", b.Masks[0].Name)
				}
			}
		}
	}
	return nil
}

func isJSON(text string) bool {
	_, err := value.Decode([]byte(text))
	return err == nil
}

// value returns a value at the current path with stand-ins in it.
func (s *standIns) value(v any) any {
	v, err := value.Resolve(v)
	if err != nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = s.member(name, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.value(e)
		}
		return out
	case string:
		if s.failed {
			return eval.ReplaceJSON(v, s.text)
		}
		return s.text(v)
	}
	return v
}

// text returns a text with stand-ins in it, if it is JSON.
func (s *standIns) text(v string) string {
	if text := strings.TrimSpace(v); text != "" && (text[0] == '{' || text[0] == '[') {
		if decoded, err := value.Decode([]byte(text)); err == nil {
			masked := s.value(decoded)
			if encoded, err := value.AppendJSON(nil, masked); err == nil && !value.Equal(masked, decoded) {
				return string(encoded)
			}
		}
	}
	return v
}

// member returns a member of the value at the current path.
func (s *standIns) member(name string, v any) any {
	outer := s.path
	s.path = append(slices.Clip(outer), name)
	defer func() { s.path = outer }()
	if m := s.strictest(); m != nil {
		return s.standIn(m, v)
	}
	return s.value(v)
}

// strictest returns the strictest mask of the member at the current path, whoever calls; nil for none.
func (s *standIns) strictest() (found *hcl.Mask) {
	for _, b := range s.of {
		for _, m := range b.Masks {
			if m.Matches(s.path) && (found == nil || m.With.IsStricter(found.With)) {
				found = m.Mask
			}
		}
	}
	return found
}

// standIn returns what a tape has in place of a value, and of the parts of a list or an object.
func (s *standIns) standIn(m *hcl.Mask, v any) any {
	v, err := value.Resolve(v)
	if err != nil {
		return nil
	}
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return false
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.standIn(m, e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = s.standIn(m, e)
		}
		return out
	}
	text, err := value.Text(v)
	if err != nil {
		return eval.MaskedText
	}
	_, isText := v.(string)
	key := fmt.Sprintf("%s %t %s", m.Name, isText, text)
	if known, ok := s.known[key]; ok {
		return known
	}
	kind := fmt.Sprintf("%s %t", m.Name, isText)
	s.counts[kind]++
	if s.known[key] = s.counts[kind]; isText {
		mark := fmt.Sprintf("%s-%d", marker("mask."+m.Name), s.counts[kind])
		s.known[key] = mark
		if len(text) >= minKept && strings.ContainsAny(text, "@0123456789") {
			s.secrets = append(s.secrets, Secret{Name: "mask." + m.Name, Text: text, Mark: mark})
		}
	}
	return s.known[key]
}
