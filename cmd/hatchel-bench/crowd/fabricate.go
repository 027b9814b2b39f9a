package crowd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// schema is a JSON Schema, read as far as it takes to make a value that fits most of the time.
type schema struct {
	Type       any    // a text or a list of them
	Ref        string `json:"$ref"`
	Const      any
	Enum       []any
	Default    any
	OneOf      []schema
	AnyOf      []schema
	Properties map[string]schema
	Required   []string
	Items      *schema
	Minimum    float64
	MinLength  int
	MinItems   int
	Format     string
	Defs       map[string]schema `json:"$defs"`
	Header     string            `json:"x-mcp-header"`
}

// words are texts that a caller may send.
var words = []string{"Ada", "two words", "Zoë & Söhne", "42", "'; DROP TABLE board; --", "$(touch canary)", "../../etc/passwd", "${input.name}", "\"quoted\"", ""}

var formats = map[string]string{
	"date": "2026-02-03", "date-time": "2026-02-03T04:05:06Z", "email": "ada@example.com", "uri": "https://example.com/x", "time": "04:05:06Z",
}

// fabricate makes a value for s, whose definitions are those of root.
func (s schema) fabricate(root schema) any {
	switch {
	case s.Ref != "":
		return root.Defs[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]].fabricate(root)
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[rand.IntN(len(s.Enum))]
	case s.Default != nil && rand.IntN(2) == 0:
		return s.Default
	case len(s.OneOf) > 0:
		return s.OneOf[rand.IntN(len(s.OneOf))].fabricate(root)
	case len(s.AnyOf) > 0:
		return s.AnyOf[rand.IntN(len(s.AnyOf))].fabricate(root)
	}
	kind, _ := s.Type.(string)
	if several, ok := s.Type.([]any); ok && len(several) > 0 {
		kind, _ = several[rand.IntN(len(several))].(string)
	}
	switch kind {
	case "object":
		return s.object(root)
	case "array":
		list := []any{}
		for range max(s.MinItems, rand.IntN(3)) {
			if s.Items != nil {
				list = append(list, s.Items.fabricate(root))
			}
		}
		return list
	case "integer", "number":
		return s.Minimum + float64(rand.IntN(3))
	case "boolean":
		return rand.IntN(2) == 0
	case "null":
		return nil
	}
	if text, ok := formats[s.Format]; ok {
		return text
	}
	text := words[rand.IntN(len(words))]
	return text + strings.Repeat("x", max(0, s.MinLength-len(text)))
}

func (s schema) object(root schema) map[string]any {
	value := make(map[string]any)
	for _, name := range s.Required {
		value[name] = s.Properties[name].fabricate(root)
	}
	for name, property := range s.Properties {
		if value[name] == nil && rand.IntN(2) == 0 {
			value[name] = property.fabricate(root)
		}
	}
	return value
}

// headers are the lines of the head of a request that repeat arguments.
func (s schema) headers(arguments map[string]any) string {
	var lines strings.Builder
	for name, property := range s.Properties {
		if value, ok := arguments[name]; ok && property.Header != "" {
			lines.WriteString("Mcp-Param-" + property.Header + ": =?base64?" + base64.StdEncoding.EncodeToString(fmt.Append(nil, value)) + "?=\r\n")
		}
	}
	return lines.String()
}

// encoded is a value as JSON.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // nothing that is made here cannot be written
	}
	return string(b)
}
