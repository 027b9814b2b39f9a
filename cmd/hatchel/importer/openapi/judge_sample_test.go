package openapi_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// sampler makes values of types, as a model does that reads only the schema of a tool.
type sampler struct {
	rand *rand.Rand
	set  int // 0 gives only what is required, 1 everything
	file func(*schema.Type) any
}

// wants decides whether an optional member is given.
func (s *sampler) wants(depth int) bool {
	switch s.set {
	case 0:
		return false
	case 1:
		return depth < 6
	}
	return depth < 6 && s.rand.IntN(2) == 0
}

func (s *sampler) sample(t *schema.Type, depth int) any {
	t = t.Unfolded()
	switch {
	case t.OneOf != nil:
		return s.sample(t.OneOf[s.rand.IntN(len(t.OneOf))], depth+1)
	case t.Nullable && s.set > 1 && s.rand.IntN(10) == 0:
		return nil
	case len(t.Enum) > 0:
		return t.Enum[s.rand.IntN(len(t.Enum))].Value
	}
	switch t.Kind {
	case schema.String:
		return s.text(t)
	case schema.Number, schema.Integer:
		return s.number(t)
	case schema.Bool:
		return s.rand.IntN(2) == 0
	case schema.File:
		return s.file(t)
	case schema.List, schema.Set:
		return s.list(t, depth)
	case schema.Map:
		out := map[string]any{}
		for i := range s.count(t) {
			out[fmt.Sprintf("key%d", i)] = s.sample(t.Elem, depth+1)
		}
		return out
	case schema.Object:
		out := map[string]any{}
		for _, m := range t.Members {
			if !m.Optional && !m.HasDefault || !isAny(m.Type) && s.wants(depth) {
				out[m.Name] = s.sample(m.Type, depth+1)
			}
		}
		return out
	}
	return s.any(t)
}

// isAny reports whether a type says nothing of its values, or of those that it contains. A model that does not know what
// to send leaves an optional member out.
func isAny(t *schema.Type) bool {
	if t = t.Unfolded(); t.Elem != nil {
		return isAny(t.Elem)
	}
	return t.Kind == schema.Any && t.OneOf == nil
}

// any makes a value of any type from its description.
func (s *sampler) any(t *schema.Type) any {
	switch {
	case strings.Contains(t.Description, "One of string"):
		return "text"
	}
	return map[string]any{}
}

func (s *sampler) count(t *schema.Type) int {
	least, most := 0, 3
	if t.MinItems != nil {
		least = *t.MinItems
		most = max(most, least)
	}
	if t.MaxItems != nil {
		most = min(most, *t.MaxItems)
	}
	if s.set == 0 || least >= most {
		return least
	}
	return least + s.rand.IntN(most-least+1)
}

func (s *sampler) list(t *schema.Type, depth int) any {
	out := []any{}
	seen := map[string]bool{}
	n := s.count(t)
	for range 10 * n {
		if len(out) == n {
			break
		}
		v := s.sample(t.Elem, depth+1)
		text, _ := value.AppendJSON(nil, v)
		if t.Kind == schema.Set && seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		out = append(out, v)
	}
	return out
}

func (s *sampler) number(t *schema.Type) any {
	low, high := 0.0, 1000.0
	switch {
	case t.Min != nil:
		low = number(t.Min)
	case t.Above != nil:
		low = number(t.Above) + 1
	case t.Max != nil:
		low = min(0, number(t.Max))
	case t.Below != nil:
		low = min(0, number(t.Below)-1)
	}
	high = low + 1000
	if t.Max != nil {
		high = min(high, number(t.Max))
	}
	if t.Below != nil {
		high = min(high, number(t.Below)-0.5)
	}
	v := low + s.rand.Float64()*(high-low)
	if t.MultipleOf != nil {
		step := number(t.MultipleOf)
		n := int(v / step)
		if float64(n)*step < low {
			n++
		}
		if step == float64(int(step)) {
			return n * int(step)
		}
		return float64(n) * step
	}
	if t.Kind == schema.Integer {
		return int(v)
	}
	return float64(int(v*4)) / 4
}

// formats are values of the formats.
var formats = map[string]string{
	"date": "2026-01-30", "date-time": "2026-01-30T12:00:00Z", "time": "12:00:00Z", "email": "eva@example.com",
	"uuid": "6f1c2a5e-1111-4000-8000-0123456789ab", "uri": "https://example.com/a?b=c", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"hostname": "example.com", "duration": "PT1M",
}

// listed matches the values that a description names when there are too many for an enumeration.
var listed = regexp.MustCompile(`One of ("[^"]*"(?:, "[^"]*")*)`)

// alternatives matches the kinds and values of which a text is one.
var alternatives = regexp.MustCompile(`One of: (.*)\.$`)

// letters have a meaning in URLs, forms and JSON. A slash would end the segment of a path.
var letters = []rune("abcxyz0189 &=%+?#;,.\"'<>{}[]äß漢")

func (s *sampler) text(t *schema.Type) string {
	if strings.Contains(t.Description, "base64") {
		return "dGV4dA=="
	}
	if values := listed.FindStringSubmatch(t.Description); values != nil {
		all := strings.Split(values[1], ", ")
		return strings.Trim(all[s.rand.IntN(len(all))], `"`)
	}
	if kinds := alternatives.FindStringSubmatch(t.Description); kinds != nil {
		all := strings.Split(kinds[1], ", ")
		one := strings.Trim(all[s.rand.IntN(len(all))], `"`)
		return strings.NewReplacer("integer", "17", "number", "1.5", "bool", "true").Replace(one)
	}
	if text := formats[t.Format]; text != "" {
		return text
	}
	if t.Pattern != nil {
		return s.matching(t)
	}
	least, most := 1, 12
	if t.MinLength != nil {
		least = max(1, *t.MinLength)
		most = max(most, least)
	}
	if t.MaxLength != nil {
		most = min(most, *t.MaxLength)
	}
	n := least
	if most > least {
		n += s.rand.IntN(most - least)
	}
	out := make([]rune, min(n, most))
	for i := range out {
		out[i] = letters[s.rand.IntN(len(letters))]
		if i == 0 {
			out[i] = 'a'
		}
	}
	return string(out)
}

// matching makes a text that matches a pattern, if one of a few tries is long enough.
func (s *sampler) matching(t *schema.Type) string {
	re, err := syntax.Parse(t.Pattern.Source, syntax.Perl)
	if err != nil {
		return "text"
	}
	text := ""
	for range 20 {
		var out strings.Builder
		s.expression(&out, re)
		text = out.String()
		n := len([]rune(text))
		if (t.MinLength == nil || n >= *t.MinLength) && (t.MaxLength == nil || n <= *t.MaxLength) && text != "" && t.Pattern.MatchString(text) {
			break
		}
	}
	return text
}

func (s *sampler) expression(out *strings.Builder, re *syntax.Regexp) {
	repeat := func(least, most int) {
		if most < 0 {
			most = least + 4
		}
		for range least + s.rand.IntN(min(most-least, 20)+1) {
			s.expression(out, re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		var all []rune
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= min(re.Rune[i+1], re.Rune[i]+40); r++ {
				if r >= ' ' && r != '/' && r != 0x7f {
					all = append(all, r)
				}
			}
		}
		if len(all) > 0 {
			out.WriteRune(all[s.rand.IntN(len(all))])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('x')
	case syntax.OpCapture:
		s.expression(out, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			s.expression(out, sub)
		}
	case syntax.OpAlternate:
		s.expression(out, re.Sub[s.rand.IntN(len(re.Sub))])
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	}
}
