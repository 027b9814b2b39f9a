package curl

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
)

// member is one member of an object, in the order of the sample.
type member struct {
	name  string
	value any // string, json.Number, bool, nil, []any or []member
}

const maxDepth = 32

// parseJSON reads a sample. Objects are []member.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth == maxDepth {
		return nil, errors.New("the JSON is too deep")
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	object := []member{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := parseValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object, member{name.(string), v})
	}
	_, err = d.Token()
	return object, err
}

// bareMark begins the text of a variable that stands outside of a string of JSON.
const bareMark = mark + "?"

// quoteReferences makes strings of the variables and placeholders that stand outside of strings of JSON.
func quoteReferences(text string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quoted && i+1 < len(text):
			out.WriteString(text[i : i+2])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case c == reference[0] && quoted:
			out.WriteString(mark)
			continue
		case !quoted && (c == reference[0] || c == '<' || strings.HasPrefix(text[i:], "{{")):
			if m := bareValue.FindString(text[i:min(len(text), i+128)]); m != "" {
				out.WriteString(`"` + bareMark + `"`)
				i += len(m) - 1
				continue
			}
		}
		out.WriteByte(c)
	}
	return out.String()
}

// bareValue matches a variable or a placeholder.
var bareValue = lazyregexp.New("^(?:\x00[^\x00]+\x00|\\{\\{[^{}\"]+\\}\\}|<[A-Za-z][A-Za-z0-9 _.-]*>)")

// typeOf returns the type of a sample. A sample shows neither what is optional nor what else is allowed.
func typeOf(v any) string { return sampleOf(v).text() }

// sample is the type that samples have in common.
type sample struct {
	kind     string // string, bool, integer, number, list, object, null or any
	element  *sample
	members  []string
	types    map[string]*sample
	seen     map[string]int // how many of the objects have a member
	objects  int
	nullable bool
}

func sampleOf(v any) *sample {
	switch v := v.(type) {
	case string:
		if v == bareMark {
			return &sample{kind: "any"}
		}
		return &sample{kind: "string"}
	case bool:
		return &sample{kind: "bool"}
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return &sample{kind: "number"}
		}
		return &sample{kind: "integer"}
	case nil:
		return &sample{kind: "null", nullable: true}
	case []any:
		list := &sample{kind: "list"}
		for _, e := range v {
			list.element = list.element.merge(sampleOf(e))
		}
		return list
	case []member:
		object := &sample{kind: "object", types: map[string]*sample{}, seen: map[string]int{}, objects: 1}
		for _, m := range v {
			if object.types[m.name] == nil {
				object.members = append(object.members, m.name)
			}
			object.types[m.name], object.seen[m.name] = sampleOf(m.value), 1
		}
		return object
	}
	return &sample{kind: "any"}
}

// merge returns the type of both. A nil sample has no type yet.
func (s *sample) merge(o *sample) *sample {
	switch {
	case s == nil:
		return o
	case o == nil:
		return s
	case s.kind == "null" || o.kind == "null":
		if s.kind == "null" {
			s, o = o, s
		}
		merged := *s
		merged.nullable = true
		return &merged
	case s.kind != o.kind:
		if s.isNumeric() && o.isNumeric() {
			return &sample{kind: "number", nullable: s.nullable || o.nullable}
		}
		return &sample{kind: "any"}
	}
	merged := *s
	merged.nullable = s.nullable || o.nullable
	switch s.kind {
	case "list":
		merged.element = s.element.merge(o.element)
	case "object":
		merged.objects = s.objects + o.objects
		merged.types, merged.seen = maps.Clone(s.types), maps.Clone(s.seen)
		merged.members = slices.Clone(s.members)
		for _, name := range o.members {
			if merged.types[name] == nil {
				merged.members = append(merged.members, name)
			}
			merged.types[name] = merged.types[name].merge(o.types[name])
			merged.seen[name] += o.seen[name]
		}
	}
	return &merged
}

func (s *sample) isNumeric() bool { return s.kind == "integer" || s.kind == "number" }

// text returns the type in the language.
func (s *sample) text() string {
	switch {
	case s == nil || s.kind == "null" || s.kind == "any":
		return "any"
	case s.nullable:
		required := *s
		required.nullable = false
		return "nullable(" + required.text() + ")"
	case s.kind == "list":
		return "list(" + s.element.text() + ")"
	case s.kind == "object" && len(s.members) == 0:
		return "map(any)"
	case s.kind == "object":
		var out strings.Builder
		out.WriteString("object({\n")
		for _, name := range s.members {
			typ := s.types[name].text()
			if s.seen[name] < s.objects {
				typ = "optional(" + typ + ")"
			}
			out.WriteString(importer.Key(name) + " = " + typ + "\n")
		}
		out.WriteString("})")
		return out.String()
	}
	return s.kind
}

// dataName matches names of values that look random and are data.
var dataName = lazyregexp.New(`(?i)(^|[^a-z])(ids?|uuids?|guids?|cursor|after|before|hash|sha|sha256|digest|etag|ref|` +
	`page_?token|next)$|[a-z]Ids?$`)

// isDataName reports whether a parameter of this name is data, even if its value looks random.
func isDataName(name string) bool { return dataName.MatchString(name) && !credential.IsName(name) }

// isCredential reports whether a value must not be written.
func isCredential(name, value string) bool {
	return credential.MayBeName(name) || importer.ContainsCredential(value) || credential.LooksRandom(value)
}

var (
	number = lazyregexp.New(`^[0-9]+$`)
	uuid   = lazyregexp.New(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	idLike = lazyregexp.New(`^[A-Za-z]{0,6}[-_]?[0-9][-_A-Za-z0-9]*$|` +
		`^[-_A-Za-z0-9]*[0-9][-_A-Za-z0-9]{7,}$|@|:[^A-Za-z]|:.*[0-9-]|^\{.*\}$`)
)

// version matches path words such as v1, v2.1 and 2024-10, which are no ids.
var version = lazyregexp.New(`^v[0-9]+([._][0-9]+)*(alpha|beta)?[0-9]*$|` +
	`^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$|^[0-9]+\.[0-9]+$`)

// stand matches what documentation writes in place of a value, such as XXXX and YOUR_ID.
var stand = lazyregexp.New(`^[Xx*]{3,}$|^(YOUR|your)[-_][A-Za-z0-9_-]+$|^[A-Z]{2,}(_[A-Z0-9]+)+$|^\.\.\.$|^…$|` +
	`^(OWNER|REPO|ORG|USER|USERNAME|ID|NAME|UUID|PROJECT|BRANCH|TAG|KEY|TOKEN)$`)

// looksLikeID returns the type of a path word that looks like an id.
func looksLikeID(word string) (typ string, ok bool) {
	switch {
	case version.MatchString(word):
		return "", false
	case stand.MatchString(word):
		return "string", true
	case isInteger(word):
		return "integer", true
	case uuid.MatchString(word):
		return `string({ format = "uuid" })`, true
	case idLike.MatchString(word), isRandomWord(word):
		return "string", true
	}
	return "", false
}

// isInteger reports whether a text is a number that clients send back as it is: without leading zeros, and exact in
// JavaScript.
func isInteger(text string) bool {
	return number.MatchString(text) && len(text) < 16 && (text == "0" || text[0] != '0')
}

// isRandomWord reports whether a word is too long and mixed to be one of an address.
func isRandomWord(word string) bool {
	return credential.LooksRandom(word) || importer.ContainsCredential(word) ||
		len(word) > 40 && !strings.ContainsAny(word, "-_.")
}
