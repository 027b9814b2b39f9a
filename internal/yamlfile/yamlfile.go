// Package yamlfile reads YAML files of other programs into nodes. It refuses keys that are set twice, and places its
// errors: they begin with a line and a column.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/internal/lazyregexp"
)

// Parse returns the root of the first document, or nil if src has none.
func Parse(src []byte) (*yaml.Node, error) {
	roots, err := parse(src, 1)
	if len(roots) == 0 {
		return nil, err
	}
	return roots[0], err
}

// ParseAll returns the roots of all documents.
func ParseAll(src []byte) ([]*yaml.Node, error) { return parse(src, len(src)) }

func parse(src []byte, documents int) ([]*yaml.Node, error) {
	roots, err := decodeDocuments(src, documents)
	if err != nil {
		return nil, placeMistake(src, documents, err.Error())
	}
	for _, root := range roots {
		if err := checkAllKeys(root); err != nil {
			return nil, err
		}
	}
	return roots, nil
}

// decodeDocuments returns the roots of up to a number of documents. A panic of the library is an error.
func decodeDocuments(src []byte, documents int) (roots []*yaml.Node, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the YAML reader of hatchel has failed: %v", v)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	for range documents {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		roots = append(roots, document.Content...)
	}
	return roots, nil
}

// maxPlaced is the size up to which a mistake is searched.
const maxPlaced = 1 << 20

var libraryLine = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

// placeMistake returns the error for a message of the library. The library counts the lines of some messages from 0,
// names the line where the block around a mistake begins, or none. The mistake is on the last of the fewest lines that
// give the same message.
func placeMistake(src []byte, documents int, message string) error {
	line := 1
	m := libraryLine.FindStringSubmatch(message)
	if m != nil && m[1] != "" {
		line, _ = strconv.Atoi(m[1])
	}
	if len(src) <= maxPlaced {
		var ends []int // of lines, without the last line
		for i, c := range src[:max(len(src)-1, 0)] {
			if c == '\n' {
				ends = append(ends, i+1)
			}
		}
		line = 1 + sort.Search(len(ends), func(i int) bool {
			_, err := decodeDocuments(src[:ends[i]], documents)
			return err != nil && err.Error() == message
		})
	}
	return fmt.Errorf("%d:1: %s", line, libraryLine.ReplaceAllString(message, ""))
}

func checkAllKeys(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		if err := CheckKeys(n); err != nil {
			return err
		}
	}
	for _, below := range n.Content {
		if err := checkAllKeys(below); err != nil {
			return err
		}
	}
	return nil
}

// maxCompared is the number of keys up to which each is compared with those before it.
const maxCompared = 16

// CheckKeys returns an error at the first key of a mapping that is set for the second time.
func CheckKeys(mapping *yaml.Node) error {
	c := mapping.Content
	var lines map[string]int
	if len(c) > 2*maxCompared {
		lines = make(map[string]int, len(c)/2)
	}
	for i := 0; i+1 < len(c); i += 2 {
		name, isScalar := scalarKey(c[i])
		if !isScalar {
			continue
		}
		line := lines[name]
		for j := 0; lines == nil && j < i && line == 0; j += 2 {
			if other, isScalar := scalarKey(c[j]); isScalar && other == name {
				line = c[j].Line
			}
		}
		if line > 0 {
			return fmt.Errorf("%d:%d: the key %.60q is set twice; line %d sets it first",
				c[i].Line, c[i].Column, name, line)
		}
		if lines != nil {
			lines[name] = c[i].Line
		}
	}
	return nil
}

func scalarKey(key *yaml.Node) (name string, isScalar bool) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	return key.Value, key.Kind == yaml.ScalarNode
}

// maxMembers is the maximum number of members of a mapping that Decode reads: the library compares each pair of them.
const maxMembers = 10_000

// Decode stores the value of a node. A panic of the library is an error.
func Decode(n *yaml.Node, into any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the YAML reader of hatchel has failed: %v", v)
		}
	}()
	if large := findLarge(n); large != nil {
		return fmt.Errorf("the mapping in line %d has more than %d members", large.Line, maxMembers)
	}
	if err := n.Decode(into); err != nil {
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
		return errors.New(strings.ReplaceAll(text, "\n", " "))
	}
	return nil
}

func findLarge(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxMembers {
		return n
	}
	for _, below := range n.Content {
		if large := findLarge(below); large != nil {
			return large
		}
	}
	return nil
}
