package toolbox

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/internal/lazyregexp"
)

// referencePattern matches ${NAME} and ${NAME:default}, which the Toolbox replaces in the text of a file before it
// reads the YAML.
const referencePattern = `\$\{[A-Za-z_][A-Za-z0-9_]*(?::[^}\n]*)?\}`

var (
	reference  = lazyregexp.New(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:[^}\n]*)?\}$`)
	references = lazyregexp.New(referencePattern)
	masked     = lazyregexp.New(maskStart + "([0-9a-f]+)" + maskEnd)
)

// The characters around a masked reference.
const (
	maskStart = "\uE0F0"
	maskEnd   = "\uE0F1"
)

// quotedStyle is the style of scalars that are always texts.
const quotedStyle = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// maskReferences returns the text of a file with references that the YAML reader does not take apart.
func maskReferences(src []byte) []byte {
	return []byte(references.ReplaceAllStringFunc(string(src), func(ref string) string {
		return maskStart + hex.EncodeToString([]byte(ref[2:len(ref)-1])) + maskEnd
	}))
}

// unmaskReferences restores the references in a document. Aliases are restored where they are declared.
func unmaskReferences(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Value = masked.ReplaceAllStringFunc(n.Value, func(text string) string {
			inner, err := hex.DecodeString(strings.Trim(text, maskStart+maskEnd))
			if err != nil {
				return text
			}
			return "${" + string(inner) + "}"
		})
	}
	for _, below := range n.Content {
		unmaskReferences(below)
	}
}

// replaceReferences replaces references by their defaults in all values of an item but those of some of its keys. It
// returns what was replaced. The error names a reference without a default.
func replaceReferences(n *yaml.Node, but ...string) (replaced []string, err error) {
	if n.Kind == yaml.ScalarNode {
		text := references.ReplaceAllStringFunc(n.Value, func(text string) string {
			ref := reference.FindStringSubmatch(text)
			if ref[2] == "" {
				if err == nil {
					err = fmt.Errorf("it has the value of %s from the environment, and only connections, headers and "+
						"statements can; a default, as in ${%[1]s:…}, is imported", ref[1])
				}
				return text
			}
			replaced = append(replaced, text)
			return ref[2][1:]
		})
		if text != n.Value {
			if n.Value = text; n.Style&quotedStyle == 0 {
				n.Tag = "" // a number, perhaps
			}
		}
		return replaced, err
	}
	for i, below := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && slices.Contains(but, n.Content[i-1].Value) {
			continue
		}
		more, failed := replaceReferences(below)
		if replaced = append(replaced, more...); failed != nil && err == nil {
			err = failed
		}
	}
	return replaced, err
}
