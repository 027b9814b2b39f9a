package urltext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// binder renders the URL of one call.
type binder struct {
	frame   template.Frame
	dst     []byte
	head    int                     // slashes before the beginning of the path
	query   bool                    // the path has ended
	segment int                     // index of the segment in dst
	pending *template.Interpolation // the last value in the segment
}

func (b *binder) nodes(nodes []template.Node) error {
	for _, n := range nodes {
		if err := b.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) node(n template.Node) error {
	switch n := n.(type) {
	case *template.Text:
		return b.text(n.Value)
	case *template.Interpolation:
		if n.Func == "path" && !b.query {
			return b.segments(n)
		}
		return b.value(n)
	case *template.If:
		v, err := n.Cond(b.frame)
		if err != nil {
			return err
		}
		switch yes, ok := v.(bool); {
		case !ok:
			return fmt.Errorf("a condition must be true or false, and it is a %s", value.Kind(v))
		case yes:
			return b.nodes(n.Then)
		}
		return b.nodes(n.Else)
	case *template.For:
		outer := b.frame
		err := n.Over(outer, func(f template.Frame) error {
			b.frame = f
			return b.nodes(n.Body)
		})
		b.frame = outer
		return err
	}
	return nil
}

// text appends constant text and records the ends of segments.
func (b *binder) text(s string) error {
	for i := 0; i < len(s) && !b.query; i++ {
		c := s[i]
		if c != '/' && c != '?' {
			continue
		}
		if c == '/' && b.head > 0 {
			b.head--
			continue
		}
		if err := b.endSegment(s[:i]); err != nil {
			return err
		}
		b.dst = append(b.dst, s[:i+1]...)
		b.segment, b.query = len(b.dst), c == '?'
		s, i = s[i+1:], -1
	}
	b.dst = append(b.dst, s...)
	return nil
}

// endSegment checks the segment that ends with rest.
func (b *binder) endSegment(rest string) error {
	if b.pending == nil {
		return nil
	}
	source := b.pending.Source
	b.pending = nil
	if rest == "" {
		return checkSegment(string(b.dst[b.segment:]), source)
	}
	return checkSegment(string(b.dst[b.segment:])+rest, source)
}

func (b *binder) value(h *template.Interpolation) error {
	text, err := scalar(h, b.frame)
	if err != nil {
		return err
	}
	b.dst = appendEscaped(b.dst, text)
	if !b.query {
		b.pending = h
	}
	return nil
}

// segments appends the segments that path() returns.
func (b *binder) segments(h *template.Interpolation) error {
	v, err := resolve(h, b.frame)
	if err != nil {
		return err
	}
	source := h.Source
	if len(h.Args) > 0 {
		source = h.Args[0].Source
	}
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case nil:
		return errNull(source)
	default:
		text, err := scalarText(v, source)
		if err != nil {
			return err
		}
		for part := range strings.SplitSeq(text, "/") {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return fmt.Errorf("%s is empty, and a path in a URL needs at least one part", source)
	}
	for i, part := range parts {
		if part, err = value.Resolve(part); err != nil {
			return err
		}
		text, err := scalarText(part, source)
		if err != nil {
			return err
		}
		if i > 0 {
			b.dst = append(b.dst, '/')
		}
		begin := len(b.dst)
		b.dst = appendEscaped(b.dst, text)
		if err := checkSegment(string(b.dst[begin:]), source); err != nil {
			return err
		}
	}
	return nil
}

func resolve(h *template.Interpolation, f template.Frame) (any, error) {
	v, err := h.Value(f)
	if err != nil {
		return nil, err
	}
	return value.Resolve(v)
}

func scalar(h *template.Interpolation, f template.Frame) (string, error) {
	v, err := resolve(h, f)
	if err != nil {
		return "", err
	}
	return scalarText(v, h.Source)
}

func scalarText(v any, source string) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int, float64, bool, json.Number:
		return value.Text(v)
	case nil:
		return "", errNull(source)
	}
	return "", fmt.Errorf("%s must be a single value in a URL, and it is of the kind %s", source, value.Kind(v))
}

func errNull(source string) error {
	return errors.New(source + " is null, and the URL needs a value there")
}
