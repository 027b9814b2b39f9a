package test

import (
	"regexp/syntax"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// sampler makes values of types: the smallest ones that are easy to complete.
type sampler struct {
	file func(mediaTypes []string) string // the path of an uploaded file
}

func (s sampler) sample(t *schema.Type, depth int) any {
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
	case schema.File:
		if s.file != nil {
			return s.file(t.MediaTypes)
		}
	case schema.List, schema.Set:
		out := []any{}
		for i := 0; t.MinItems != nil && i < min(*t.MinItems, 20); i++ {
			out = append(out, s.sample(t.Elem, depth+1))
		}
		return out
	case schema.Object:
		out := map[string]any{}
		for _, m := range t.Members {
			if !m.Optional && !m.HasDefault {
				out[m.Name] = s.sample(m.Type, depth+1)
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
	if t.Pattern != nil {
		if re, err := syntax.Parse(t.Pattern.Source, syntax.Perl); err == nil {
			if text := samplePattern(re); t.Pattern.MatchString(text) {
				return text
			}
		}
	}
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

const maxRepeats = 100 // of a part of a pattern

// samplePattern returns a short text that matches a pattern, if its parts do not contradict each other.
func samplePattern(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, nice := range "a0A1-_ ." {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= nice && nice <= re.Rune[i+1] {
					return string(nice)
				}
			}
		}
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpPlus, syntax.OpCapture:
		return samplePattern(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(samplePattern(re.Sub[0]), min(re.Min, maxRepeats))
	case syntax.OpConcat:
		var out strings.Builder
		for _, part := range re.Sub {
			out.WriteString(samplePattern(part))
		}
		return out.String()
	case syntax.OpAlternate:
		return samplePattern(re.Sub[0])
	}
	return ""
}
