package test

import (
	"encoding/json"
	"fmt"
	"strings"

	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

// readResult reads the result of a tool.
func (r *running) readResult(encoded []byte) error {
	decoded, err := value.Decode(encoded)
	if err != nil {
		return fmt.Errorf("the result cannot be decoded: %w", err)
	}
	members, _ := decoded.(map[string]any)
	r.out.failed = members["isError"] == true
	r.out.result, r.out.hasValue = members["structuredContent"]
	r.out.structured = r.out.hasValue
	r.out.content, _ = members["content"].([]any)
	r.out.text = joinTexts(r.out.content)
	if !r.out.hasValue && !r.out.failed && r.Tool.Text == nil && r.Tool.Content == nil {
		result, err := value.Decode([]byte(r.out.text)) // a result without a type is sent as text alone
		r.out.result, r.out.hasValue = result, err == nil
	}
	return nil
}

// readFailures reads the failures after which the call went on, from the metadata of its result; nil for none.
func (r *running) readFailures(meta mcp.Appender) error {
	if meta == nil {
		return nil
	}
	if err := json.Unmarshal(meta.AppendJSON(nil), &r.out.partial); err != nil {
		return fmt.Errorf("the metadata of the result cannot be decoded: %w", err)
	}
	return nil
}

func joinTexts(content []any) string {
	var out []string
	for _, c := range content {
		if block, _ := c.(map[string]any); block != nil {
			if text, ok := block["text"].(string); ok {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, "\n")
}

// readDocument reads the result of a prompt or a resource.
func (r *running) readDocument(encoded []byte) error {
	var document struct {
		Messages []struct{ Content json.RawMessage }
		Contents []json.RawMessage
	}
	decoded, err := value.Decode(encoded)
	if err == nil {
		err = json.Unmarshal(encoded, &document)
	}
	if err != nil {
		return fmt.Errorf("the result cannot be decoded: %w", err)
	}
	r.out.result, r.out.hasValue = decoded, true
	for _, m := range document.Messages {
		document.Contents = append(document.Contents, m.Content)
	}
	for _, c := range document.Contents {
		v, err := value.Decode(c)
		if err != nil {
			return fmt.Errorf("the result cannot be decoded: %w", err)
		}
		r.out.content = append(r.out.content, v)
	}
	r.out.text = joinTexts(r.out.content)
	return nil
}
