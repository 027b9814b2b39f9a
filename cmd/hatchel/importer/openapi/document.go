package openapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/internal/yamlfile"
)

// Bounds of one document.
const (
	maxNodes = 1_000_000 // after aliases
	maxDepth = 64
)

// document is one file of the source. Its nodes have no aliases and no merge keys, and form a graph without cycles.
type document struct {
	location string
	digest   [sha256.Size]byte
	root     *yaml.Node
	index    map[*yaml.Node]map[string]*yaml.Node // of large mappings
}

// parseDocument reads JSON or YAML. The error says the line and the column.
func parseDocument(location string, src []byte) (*document, error) {
	d := &document{location: location, digest: sha256.Sum256(src), index: map[*yaml.Node]map[string]*yaml.Node{}}
	trimmed := bytes.TrimLeft(src, " \t\r\n")
	if len(trimmed) == 0 {
		return nil, errors.New("it is empty")
	}
	var jsonErr error
	if trimmed[0] == '{' {
		if d.root, jsonErr = parseJSON(src); jsonErr == nil {
			return d, nil
		}
	}
	if marks := countMarks(src); marks > maxMarks {
		return nil, fmt.Errorf("it has more than %d values", maxNodes)
	}
	var err error
	if d.root, err = yamlfile.Parse(src); err != nil {
		return nil, cmp.Or(jsonErr, err)
	}
	if d.root == nil {
		return nil, errors.New("it is empty")
	}
	n := &normaliser{done: map[*yaml.Node]int{}, parents: map[*yaml.Node]bool{}}
	_, err = n.node(&d.root, 0)
	return d, err
}

// maxMarks is the number of lines, commas and brackets in a document of YAML, which is counted before it is decoded.
const maxMarks = 3 * maxNodes

func countMarks(src []byte) (n int) {
	for _, c := range src {
		switch c {
		case '\n', ',', '[', '{':
			n++
		}
	}
	return n
}

// normaliser replaces aliases by what they name, and merge keys by the merged members. It counts nodes as if each
// alias were a copy.
type normaliser struct {
	done    map[*yaml.Node]int // the number of nodes below
	parents map[*yaml.Node]bool
}

func (z *normaliser) node(at **yaml.Node, depth int) (size int, err error) {
	n := *at
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	*at = n
	if size, done := z.done[n]; done {
		return size, nil
	}
	switch {
	case z.parents[n]:
		return 0, fmt.Errorf("%d:%d: an anchor contains itself", n.Line, n.Column)
	case depth > maxDepth:
		return 0, fmt.Errorf("%d:%d: values are nested more than %d levels deep", n.Line, n.Column, maxDepth)
	}
	z.parents[n] = true
	defer delete(z.parents, n)
	size = 1
	for i := range n.Content {
		below, err := z.node(&n.Content[i], depth+1)
		if err != nil {
			return 0, err
		}
		if size += below; size > maxNodes {
			return 0, fmt.Errorf("it has more than %d values, with those of aliases", maxNodes)
		}
	}
	if n.Kind == yaml.MappingNode {
		mergeMembers(n)
	}
	z.done[n] = size
	return size, nil
}

// mergeMembers replaces the merge keys of a mapping. The members of the mapping itself win.
func mergeMembers(n *yaml.Node) {
	var merged []*yaml.Node
	own := make([]*yaml.Node, 0, len(n.Content))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case key.Tag != "!!merge":
			own = append(own, key, v)
		case v.Kind == yaml.MappingNode:
			merged = append(merged, v.Content...)
		case v.Kind == yaml.SequenceNode:
			for _, one := range v.Content {
				if one.Kind == yaml.MappingNode {
					merged = append(merged, one.Content...)
				}
			}
		}
	}
	if merged == nil {
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(own); i += 2 {
		seen[own[i].Value] = true
	}
	for i := 0; i+1 < len(merged); i += 2 {
		if !seen[merged[i].Value] {
			seen[merged[i].Value] = true
			own = append(own, merged[i], merged[i+1])
		}
	}
	n.Content = own
}

// node is a value of a document. The zero node is absent, and everything can be asked of it.
type node struct {
	doc *document
	*yaml.Node
}

func (n node) exists() bool   { return n.Node != nil && n.Tag != "!!null" }
func (n node) isMap() bool    { return n.Node != nil && n.Kind == yaml.MappingNode }
func (n node) isList() bool   { return n.Node != nil && n.Kind == yaml.SequenceNode }
func (n node) isScalar() bool { return n.exists() && n.Kind == yaml.ScalarNode }
func (n node) isString() bool {
	return n.isScalar() && n.Tag != "!!int" && n.Tag != "!!float" && n.Tag != "!!bool"
}
func (n node) isNull() bool { return n.Node != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
func (n node) isTrue() bool {
	return n.isScalar() && n.Tag == "!!bool" && strings.EqualFold(n.Value, "true")
}
func (n node) isFalse() bool {
	return n.isScalar() && n.Tag == "!!bool" && strings.EqualFold(n.Value, "false")
}
func (n node) has(k string) bool { return n.get(k).Node != nil }

// size returns the number of nodes directly below: two for each member of a mapping.
func (n node) size() int {
	if n.Node == nil {
		return 0
	}
	return len(n.Content)
}

func (n node) line() int {
	if n.Node == nil {
		return 0
	}
	return n.Line
}

// minIndexed is the number of members from which a mapping is indexed.
const minIndexed = 24

// get returns a member of a mapping.
func (n node) get(key string) node {
	if !n.isMap() {
		return node{}
	}
	c := n.Content
	if len(c) < 2*minIndexed {
		for i := 0; i+1 < len(c); i += 2 {
			if c[i].Value == key {
				return node{n.doc, c[i+1]}
			}
		}
		return node{}
	}
	index := n.doc.index[n.Node]
	if index == nil {
		index = make(map[string]*yaml.Node, len(c)/2)
		for i := len(c) - 2; i >= 0; i -= 2 {
			index[c[i].Value] = c[i+1]
		}
		n.doc.index[n.Node] = index
	}
	if v := index[key]; v != nil {
		return node{n.doc, v}
	}
	return node{}
}

// at returns the member of nested mappings.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		n = n.get(key)
	}
	return n
}

// text returns a scalar as it is written, or "".
func (n node) text() string {
	if !n.isScalar() {
		return ""
	}
	return n.Value
}

// members yields the members of a mapping in order, each name once.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if !n.isMap() {
			return
		}
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if n.Content[i].Kind != yaml.ScalarNode || seen[name] {
				continue
			}
			seen[name] = true
			if !yield(name, node{n.doc, n.Content[i+1]}) {
				return
			}
		}
	}
}

// list yields the elements of a sequence.
func (n node) list() iter.Seq[node] {
	return func(yield func(node) bool) {
		if !n.isList() {
			return
		}
		for _, v := range n.Content {
			if !yield(node{n.doc, v}) {
				return
			}
		}
	}
}

// place returns file:line of a node, for reports.
func (n node) place() string {
	if n.Node == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(Redacted(n.doc.location)), n.Line)
}
