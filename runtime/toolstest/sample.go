package toolstest

import (
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// sample returns a value of a type: the smallest one that is easy to complete.
func sample(t *schema.Type, depth int) any {
	const maxDepth = 16
	switch {
	case depth > maxDepth || t.Nullable:
		return nil
	case len(t.Enum) > 0:
		return t.Enum[0].Value
	case len(t.Examples) > 0:
		return t.Examples[0]
	}
	switch t.Kind {
	case schema.String:
		return sampleText(t)
	case schema.Number, schema.Integer:
		switch {
		case t.Min != nil:
			return t.Min
		case t.Above != nil:
			n, _ := value.Float(t.Above)
			return int(n) + 1
		}
		return 1
	case schema.Bool:
		return true
	case schema.List, schema.Set:
		out := []any{}
		for i := 0; t.MinItems != nil && i < min(*t.MinItems, 20); i++ {
			out = append(out, sample(t.Elem, depth+1))
		}
		return out
	case schema.Object:
		out := map[string]any{}
		for _, m := range t.Members {
			if !m.Optional && !m.HasDefault {
				out[m.Name] = sample(m.Type, depth+1)
			}
		}
		return out
	}
	return map[string]any{}
}

// sampleTexts are texts of the formats.
var sampleTexts = map[string]string{
	"date": "2026-01-30", "date-time": "2026-01-30T12:00:00Z", "time": "12:00:00Z", "email": "eva@example.com",
	"uuid": "00000000-0000-4000-8000-000000000000", "uri": "https://example.com/", "ipv4": "192.0.2.1",
	"hostname": "example.com", "duration": "PT1M", "ipv6": "2001:db8::1",
}

func sampleText(t *schema.Type) string {
	text := sampleTexts[t.Format]
	if text == "" {
		text = "text"
	}
	if t.MinLength != nil && len(text) < *t.MinLength {
		text = strings.Repeat("x", min(*t.MinLength, 1000))
	}
	if t.MaxLength != nil && len(text) > *t.MaxLength {
		text = text[:*t.MaxLength]
	}
	return text
}
