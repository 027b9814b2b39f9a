package curl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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

// typeOf returns the type of a sample. A sample shows neither what is optional nor what else is allowed.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		element := ""
		for _, e := range v {
			if t := typeOf(e); element == "" || element == t {
				element = t
			} else {
				return "list(any)"
			}
		}
		if element == "" {
			return "list(any)"
		}
		return "list(" + element + ")"
	case []member:
		return objectType(v)
	}
	return "any"
}

func objectType(members []member) string {
	if len(members) == 0 {
		return "any"
	}
	var out bytes.Buffer
	out.WriteString("object({\n")
	for _, m := range members {
		out.WriteString(importer.Key(m.name) + " = " + typeOf(m.value) + "\n")
	}
	out.WriteString("})")
	return out.String()
}

// isCredential reports whether a value must not be written.
func isCredential(name, value string) bool {
	return credential.MayBeName(name) || importer.ContainsCredential(value) || credential.LooksRandom(value)
}

var (
	number = lazyregexp.New(`^[0-9]+$`)
	uuid   = lazyregexp.New(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	idLike = lazyregexp.New(`^[A-Za-z]{0,6}[-_]?[0-9][-_A-Za-z0-9]*$|` +
		`^[-_A-Za-z0-9]*[0-9][-_A-Za-z0-9]{7,}$|[@:]|^\{.*\}$`)
)

// version matches path words such as v1, v2.1 and 2024-10, which are no ids.
var version = lazyregexp.New(`^v[0-9]+([._][0-9]+)*(alpha|beta)?[0-9]*$|` +
	`^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$|^[0-9]+\.[0-9]+$`)

// looksLikeID returns the type of a path word that looks like an id.
func looksLikeID(word string) (typ string, ok bool) {
	switch {
	case strings.Contains(word, reference):
		return "string", true
	case version.MatchString(word):
		return "", false
	case number.MatchString(word):
		return "integer", true
	case uuid.MatchString(word):
		return `string({ format = "uuid" })`, true
	case idLike.MatchString(word), isRandomWord(word):
		return "string", true
	}
	return "", false
}

// isRandomWord reports whether a word is too long and mixed to be one of an address.
func isRandomWord(word string) bool {
	return credential.LooksRandom(word) || importer.ContainsCredential(word) ||
		len(word) > 40 && !strings.ContainsAny(word, "-_.")
}
