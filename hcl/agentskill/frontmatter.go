package agentskill

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/yamlfile"
)

// The limits of the frontmatter. That of the description is of the format.
const (
	maxFrontmatter = 16 << 10 // bytes
	MaxDescription = 1024     // characters
	maxNesting     = 32
)

// Frontmatter is the YAML at the beginning of a SKILL.md.
type Frontmatter struct {
	Name, Description string
	AllowedTools      bool   // it asks for tools of the host, which hosts ignore
	JSON              []byte // all of it, as an object
}

// FrontmatterError is a mistake in a frontmatter. Text is a sentence without a full stop.
type FrontmatterError struct {
	Line int // of the SKILL.md
	Text string
}

func (e *FrontmatterError) Error() string { return e.Text }

func mistake(line int, format string, args ...any) error {
	return &FrontmatterError{line, fmt.Sprintf(format, args...)}
}

var fence = lazyregexp.New(`(?m)^---[ \t]*\r?$`)

// Split returns the YAML of a SKILL.md and the text after it; ok is false without a frontmatter.
func Split(src []byte) (frontmatter, body []byte, ok bool) {
	fences := fence.FindAllIndex(bytes.TrimPrefix(src, []byte("\ufeff")), 2)
	if len(fences) < 2 || fences[0][0] != 0 {
		return nil, src, false
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	return src[fences[0][1]+1 : fences[1][0]], bytes.TrimPrefix(src[fences[1][1]:], []byte("\n")), true
}

// ParseFrontmatter reads the frontmatter of a SKILL.md. What YAML readers understand in different ways is refused,
// because hosts compare the frontmatter that the server lists with the one that they read. The error is a
// *FrontmatterError.
func ParseFrontmatter(src []byte) (*Frontmatter, error) {
	text, _, ok := Split(src)
	if !ok {
		return nil, mistake(1, "%s must begin with a line ---, the frontmatter in YAML with name and description, and "+
			"another line ---", ManifestName)
	}
	if len(text) > maxFrontmatter {
		return nil, mistake(1, "The frontmatter has %d bytes, and may have %d", len(text), maxFrontmatter)
	}
	root, err := yamlfile.Parse(append([]byte("\n"), text...)) // with the lines of the file
	if err != nil {
		return nil, placed(err)
	}
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, mistake(2, "The frontmatter must be a mapping with name and description")
	}
	f := new(Frontmatter)
	if f.JSON, err = appendNode(nil, root, 0); err != nil {
		return nil, err
	}
	return f, f.readFields(root)
}

// placed returns an error of yamlfile, which begins with a line and a column.
func placed(err error) error {
	place, text, _ := strings.Cut(err.Error(), ": ")
	at, _, _ := strings.Cut(place, ":")
	line, convErr := strconv.Atoi(at)
	if convErr != nil {
		return mistake(1, "The frontmatter is not YAML: %s", err)
	}
	return mistake(line, "The frontmatter is not YAML: %s", text)
}

// readFields reads the fields that the format requires.
func (f *Frontmatter) readFields(root *yaml.Node) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, v := root.Content[i], root.Content[i+1]
		isText := v.Kind == yaml.ScalarNode && v.ShortTag() == "!!str"
		switch key.Value {
		case "name", "description":
			if !isText {
				return mistake(v.Line, "%s must be a text", key.Value)
			}
			if key.Value == "name" {
				f.Name = v.Value
			} else {
				f.Description = v.Value
			}
		case "allowed-tools":
			f.AllowedTools = true
		}
	}
	if f.Name == "" {
		return mistake(1, "The frontmatter has no name")
	}
	if strings.TrimSpace(f.Description) == "" {
		return mistake(1, "The frontmatter has no description, by which models choose the skill")
	}
	if n := utf8.RuneCountInString(f.Description); n > MaxDescription {
		return mistake(1, "The description has %d characters, and may have %d", n, MaxDescription)
	}
	return nil
}

var errAmbiguous = errors.New("")

// appendNode appends a node as JSON.
func appendNode(dst []byte, n *yaml.Node, depth int) (_ []byte, err error) {
	switch {
	case depth > maxNesting:
		return nil, mistake(n.Line, "The frontmatter is nested more than %d levels deep", maxNesting)
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return nil, mistake(n.Line, "The frontmatter may have no anchors and aliases. Repeat the value")
	}
	switch n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" || isAmbiguousWord(key) {
				return nil, mistake(key.Line, "The key %.60q must be a text: write it in quotes", key.Value)
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(value.AppendString(dst, key.Value), ':')
			if dst, err = appendNode(dst, n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, element := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendNode(dst, element, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	dst, err = appendScalar(dst, n)
	if errors.Is(err, errAmbiguous) {
		return nil, mistake(n.Line, "%.60q is read in different ways by readers of YAML: write it in quotes", n.Value)
	}
	return dst, err
}

// number matches numbers that every reader of YAML reads alike.
var number = lazyregexp.New(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,14})?$`)

// appendScalar appends a scalar as JSON.
func appendScalar(dst []byte, n *yaml.Node) ([]byte, error) {
	switch tag := n.ShortTag(); {
	case n.Style&yaml.TaggedStyle != 0:
		return nil, errAmbiguous
	case tag == "!!str" && isAmbiguousWord(n):
		return nil, errAmbiguous
	case tag == "!!str":
		return value.AppendString(dst, n.Value), nil
	case tag == "!!null" && (n.Value == "" || n.Value == "null" || n.Value == "~"):
		return append(dst, "null"...), nil
	case tag == "!!bool" && (n.Value == "true" || n.Value == "false"):
		return append(dst, n.Value...), nil
	case (tag == "!!int" || tag == "!!float") && number.MatchString(n.Value):
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, errAmbiguous
		}
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	return nil, errAmbiguous
}

// isAmbiguousWord reports whether a text is a word without quotes that is a truth value in YAML 1.1.
func isAmbiguousWord(n *yaml.Node) bool {
	if n.Style != 0 {
		return false
	}
	switch strings.ToLower(n.Value) {
	case "yes", "no", "on", "off":
		return true
	}
	return false
}
