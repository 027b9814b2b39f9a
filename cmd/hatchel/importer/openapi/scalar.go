package openapi

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hatchel/cmd/hatchel/importer"
	language "hatchel/hcl/schema"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// maxEnum is the number of values up to which an enum is one.
const maxEnum = 60

var decimal = lazyregexp.New(`^-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?$`)

// numberText returns a number as HCL writes it, or "".
func numberText(n node) string {
	if !n.isScalar() {
		return ""
	}
	text := strings.TrimPrefix(strings.ReplaceAll(n.Value, "_", ""), "+")
	if decimal.MatchString(text) {
		return text
	}
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return strconv.FormatInt(i, 10)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if text = strconv.FormatFloat(f, 'g', -1, 64); decimal.MatchString(text) {
			return text
		}
	}
	return ""
}

func countText(n node) string {
	i, err := strconv.Atoi(strings.TrimSuffix(numberText(n), ".0"))
	if err != nil || i < 0 || i > 1<<31 {
		return ""
	}
	return strconv.Itoa(i)
}

func rational(text string) *big.Rat {
	if text == "" {
		return nil
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return v
}

// less reports whether both are numbers and a is less than b.
func less(a, b string) bool {
	x, y := rational(a), rational(b)
	return x != nil && y != nil && x.Cmp(y) < 0
}

func positive(text string) bool { v := rational(text); return v != nil && v.Sign() > 0 }

// readEnum reads enum and const. Values of one kind stay; null makes the schema nullable.
func readEnum(s *schema, n node) {
	values := slices.Collect(n.get("enum").list())
	if one := n.get("const"); one.Node != nil {
		values = []node{one}
	}
	if len(values) == 0 {
		return
	}
	titles := enumTitles(n, len(values), s.lose)
	if s.kind == anyKind {
		s.kind = kindOfValues(values)
	}
	if s.kind != stringKind && s.kind != integerKind && s.kind != numberKind {
		if s.kind != anyKind || s.alternatives == nil && len(kindsOfValues(n.get("enum"))) < 2 {
			s.describeValues(values)
		}
		return
	}
	empty := false
	seen := make(map[string]bool, len(values))
	for i, v := range values {
		text := v.text()
		tooLong := len(s.enum) > maxEnum // only the number of values counts
		switch {
		case v.isNull():
			s.nullable = true
			continue
		case !v.isScalar():
			continue
		case s.kind == stringKind && text == "":
			empty = true
			continue
		case s.kind == stringKind && !tooLong && printable.HasHidden(text):
			s.lose("value of an enum with hidden characters", printable.Reveal(text, ""))
			continue
		case s.kind == stringKind && !tooLong && importer.ContainsCredential(text):
			s.lose("value of an enum", "it looks like a credential")
			continue
		case s.kind == stringKind:
			if !v.isString() && !tooLong {
				s.lose("value of an enum has another type", text)
			}
			text = quoteJSON(text)
		default:
			if text = numberText(v); text == "" || s.kind == integerKind && strings.ContainsAny(text, ".eE") {
				continue
			}
		}
		id := valueID(text)
		if seen[id] {
			continue
		}
		seen[id] = true
		s.enum = append(s.enum, text)
		if titles != nil {
			s.enumTitles = append(s.enumTitles, titles[i])
		}
	}
	if empty && len(s.enum) > 0 {
		s.lose("empty value of an enum", "")
	}
	s.limitEnum()
	if s.enum != nil {
		s.pattern, s.format, s.bounds = "", "", bounds{}
	}
}

// valueID returns a text that is the same for equal values in JSON, such as 1 and 1.0.
func valueID(text string) string {
	if text[0] == '"' {
		return text
	}
	if v := rational(text); v != nil {
		return v.RatString()
	}
	return text
}

// describeValues makes a description of values that the type of the schema does not check.
func (s *schema) describeValues(values []node) {
	var names []string
	for _, v := range values {
		switch {
		case v.isString():
			names = append(names, quoteJSON(v.Value))
		case v.isScalar():
			names = append(names, v.Value)
		case !v.isNull():
			names = append(names, "an object or a list")
		}
	}
	if len(names) == 0 || s.kind == boolKind && slices.Contains(names, "true") == slices.Contains(names, "false") {
		return
	}
	s.lose("values that are not checked", strings.Join(limited(names, 20), ", "))
	all := strings.Join(limited(slices.Compact(names), 20), ", ")
	s.text = strings.TrimSpace(ended(s.text) + " One of " + all + ".")
}

// limitEnum makes a description of an enum that is too long, and of titles that the language has no place for.
func (s *schema) limitEnum() {
	if len(s.enum) > maxEnum {
		s.lose("enum with more than 60 values", strconv.Itoa(len(s.enum)))
		s.text = strings.TrimSpace(s.text + " One of " + strings.Join(s.enum[:20], ", ") + " and others.")
		s.enum, s.enumTitles = nil, nil
	}
	if s.kind == stringKind || s.enumTitles == nil {
		return
	}
	var titled []string
	for i, v := range s.enum {
		titled = append(titled, v+" is "+s.enumTitles[i])
	}
	s.text, s.enumTitles = strings.TrimSpace(ended(s.text)+" "+strings.Join(titled, ", ")+"."), nil
}

func kindOfValues(values []node) kind {
	k := anyKind
	for _, v := range values {
		var one kind
		switch {
		case v.isNull():
			continue
		case v.isString():
			one = stringKind
		case v.isScalar() && v.Tag == "!!int":
			one = integerKind
		case v.isScalar() && v.Tag == "!!float":
			one = numberKind
		case v.isTrue(), v.isFalse():
			one = boolKind
		default:
			return anyKind
		}
		switch {
		case k == numberKind && one == integerKind, k == integerKind && one == numberKind:
			one = numberKind
		case k != anyKind && k != one:
			return anyKind
		}
		k = one
	}
	return k
}

// enumTitles returns the titles of n values, or nil.
func enumTitles(n node, values int, lose func(kind, detail string)) []string {
	for _, name := range []string{"x-enum-descriptions", "x-enumDescriptions", "x-enum-varnames", "x-enumNames"} {
		list := n.get(name)
		if !list.isList() || list.size() != values {
			continue
		}
		var titles []string
		for v := range list.list() {
			titles = append(titles, cleanText(v.text(), 80, lose))
		}
		return titles
	}
	return nil
}

func quoteJSON(text string) string {
	out, _ := json.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	return string(out)
}

func unquoteJSON(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

// repairPattern returns a pattern that the language accepts, or "". Escapes of characters that need none are removed.
func repairPattern(source string) string {
	if len(source) > 1000 {
		return ""
	}
	if _, err := language.NewPattern(source); err == nil {
		return source
	}
	var out strings.Builder
	class := false
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case c == '\\' && i+1 < len(source):
			i++
			next := source[i]
			letter := next|0x20 >= 'a' && next|0x20 <= 'z' || next >= '0' && next <= '9' || next >= 0x80
			if letter || strings.IndexByte(`^$\.*+?()[]{}|/`, next) >= 0 || class && next == '-' {
				out.WriteByte('\\')
			}
			out.WriteByte(next)
			continue
		case c == '[' && class:
			out.WriteByte('\\')
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
		out.WriteByte(c)
	}
	if _, err := language.NewPattern(out.String()); err != nil {
		return ""
	}
	return out.String()
}

// enforcedFormats are the formats that the language enforces and documents use as it means them.
var enforcedFormats = []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"}

// looksLikeSentence reports whether the language would ask if a value is a description.
func looksLikeSentence(s string) bool {
	words := len(strings.Fields(s))
	first := s != "" && s[0] >= 'A' && s[0] <= 'Z'
	return words >= 4 || words >= 3 && first || words >= 2 && strings.HasSuffix(s, ".")
}
