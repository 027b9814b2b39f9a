package urltext

import (
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

	decisions template.Decisions
}

// bind appends a URL whose path begins after head slashes.
func bind(nodes []template.Node, f template.Frame, dst []byte, head int) ([]byte, error) {
	b := binder{frame: f, dst: dst, head: head, segment: len(dst)}
	err := b.nodes(nodes)
	if err == nil && !b.query {
		err = b.endSegment("")
	}
	if err != nil {
		return dst, err
	}
	return b.dst, nil
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
		if isPathFunc(n) && !b.query {
			return b.segments(n)
		}
		text, err := scalar(n, b.frame)
		if err != nil {
			return err
		}
		b.dst = appendEscaped(b.dst, text)
		if !b.query {
			b.pending = n
		}
	case *template.If:
		branch, err := b.decisions.Branch(n, b.frame)
		if err != nil {
			return err
		}
		return b.nodes(branch)
	case *template.For:
		outer := b.frame
		err := n.Over(outer, func(f template.Frame) error {
			b.frame = f
			b.decisions.Forget(n.Choices)
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
	return checkSegment(string(b.dst[b.segment:])+rest, source)
}

// segments appends the segments of path(), or those of segment(), which are one with escaped slashes. Each
// must be one that a server can neither remove nor divide, because some servers decode %2F before they read
// the path.
func (b *binder) segments(h *template.Interpolation) error {
	v, err := h.Resolve(b.frame)
	if err != nil {
		return err
	}
	source := h.FirstArg().Source
	parts, ok := v.([]any)
	if !ok {
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
	separator := "/"
	if h.Func == "segment" {
		separator = "%2F"
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
			b.dst = append(b.dst, separator...)
		}
		begin := len(b.dst)
		b.dst = appendEscaped(b.dst, text)
		if err := checkSegment(string(b.dst[begin:]), source); err != nil {
			return err
		}
	}
	return nil
}

func scalar(h *template.Interpolation, f template.Frame) (string, error) {
	v, err := h.Resolve(f)
	if err != nil {
		return "", err
	}
	return scalarText(v, h.Source)
}

func scalarText(v any, source string) (string, error) {
	text, present, err := template.ScalarText(v, source)
	if err == nil && !present {
		err = errors.New(source + " is null, and the URL needs a value there")
	}
	return text, err
}
