package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"hatchel/internal/yamlfile"
)

// jsonReader decodes JSON into the nodes of YAML, in order and with lines. It is much faster than reading JSON as YAML.
type jsonReader struct {
	src   []byte
	pos   int
	line  int
	start int // of the line
	nodes int
	free  []yaml.Node
}

// newNode returns a node of the current place. Nodes are allocated many at a time.
func (r *jsonReader) newNode() *yaml.Node {
	if len(r.free) == 0 {
		r.free = make([]yaml.Node, 256)
	}
	n := &r.free[0]
	r.free = r.free[1:]
	n.Line, n.Column = r.line, r.pos-r.start+1
	return n
}

func parseJSON(src []byte) (*yaml.Node, error) {
	r := &jsonReader{src: src, line: 1}
	n, err := r.value(0)
	if err == nil && r.peek() != 0 {
		err = r.fail("a value ends here, and more text follows")
	}
	return n, err
}

func (r *jsonReader) fail(text string) error {
	return fmt.Errorf("%d:%d: %s", r.line, r.pos-r.start+1, text)
}

// peek skips white space and returns the next byte, or 0 at the end.
func (r *jsonReader) peek() byte {
	for ; r.pos < len(r.src); r.pos++ {
		switch c := r.src[r.pos]; c {
		case '\n':
			r.line++
			r.start = r.pos + 1
		case ' ', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	c := r.peek()
	if r.nodes++; r.nodes > maxNodes {
		return nil, fmt.Errorf("it has more than %d values", maxNodes)
	}
	n := r.newNode()
	switch {
	case depth > maxDepth:
		return nil, r.fail(fmt.Sprintf("values are nested more than %d levels deep", maxDepth))
	case c == '{':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		return n, r.members(n, depth)
	case c == '[':
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		return n, r.elements(n, depth)
	case c == '"':
		text, err := r.text()
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!str", text
		return n, err
	}
	n.Kind = yaml.ScalarNode
	return n, r.literal(n)
}

func (r *jsonReader) members(n *yaml.Node, depth int) error {
	r.pos++
	for r.peek() != '}' {
		if len(n.Content) > 0 {
			if r.peek() != ',' {
				return r.fail("a comma or } is needed here")
			}
			r.pos++
			if r.peek() == '}' {
				break // a comma at the end is no reason to lose the document
			}
		}
		if r.peek() != '"' {
			return r.fail("a name in quotes is needed here")
		}
		key := r.newNode()
		key.Kind, key.Tag = yaml.ScalarNode, "!!str"
		var err error
		if key.Value, err = r.text(); err != nil {
			return err
		}
		if r.peek() != ':' {
			return r.fail("a colon is needed here")
		}
		r.pos++
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, key, v)
	}
	r.pos++
	return yamlfile.CheckKeys(n)
}

func (r *jsonReader) elements(n *yaml.Node, depth int) error {
	r.pos++
	for r.peek() != ']' {
		if len(n.Content) > 0 {
			if r.peek() != ',' {
				return r.fail("a comma or ] is needed here")
			}
			r.pos++
			if r.peek() == ']' {
				break
			}
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, v)
	}
	r.pos++
	return nil
}

// text reads a string. Characters that JSON does not allow in one, such as tabs, are kept.
func (r *jsonReader) text() (string, error) {
	begin, escaped := r.pos+1, false
	for i := begin; i < len(r.src); i++ {
		switch r.src[i] {
		case '\\':
			escaped = true
			i++
		case '\n':
			return "", r.fail("a string is not closed on its line")
		case '"':
			raw := r.src[begin:i]
			quoted := r.src[r.pos : i+1]
			r.pos = i + 1
			if !escaped {
				return strings.ToValidUTF8(string(raw), string(utf8.RuneError)), nil
			}
			var s string
			if json.Unmarshal(quoted, &s) != nil {
				return "", r.fail("the string before has an escape that JSON does not know")
			}
			return s, nil
		}
	}
	return "", errors.New("it ends within a string")
}

// literal reads a number, true, false or null.
func (r *jsonReader) literal(n *yaml.Node) error {
	begin := r.pos
	for r.pos < len(r.src) && strings.IndexByte(" \t\r\n,:]}\"", r.src[r.pos]) < 0 {
		r.pos++
	}
	n.Value = string(r.src[begin:r.pos])
	switch n.Value {
	case "true", "false":
		n.Tag = "!!bool"
		return nil
	case "null":
		n.Tag = "!!null"
		return nil
	}
	if n.Value == "" || !json.Valid([]byte(n.Value)) {
		r.pos = begin
		return r.fail("a value is needed here")
	}
	n.Tag = "!!int"
	if strings.ContainsAny(n.Value, ".eE") {
		n.Tag = "!!float"
	}
	return nil
}
