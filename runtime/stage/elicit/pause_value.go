package elicit

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Values of a paused call are written as JSON. What JSON has no form for is an object with one
// member whose name begins with $; names of other members that begin with $ get one more.
const (
	frozenBytes   = "$bytes"   // in base64
	frozenText    = "$text"    // a string that is not UTF-8, in base64
	frozenFile    = "$file"    // an uploaded file, by its reference
	frozenFloat   = "$float"   // a float that reads as an integer, or that JSON has no form for
	frozenContent = "$content" // an *adapters.Content, as JSON
)

var errTooDeep = errors.New("a value of the call nests too deeply to be stored")

// FileRef names an uploaded file, in its place until the call has resolved its files again.
type FileRef map[string]any

// AppendFrozen appends a value in a form in which equal values are equal, and from which Thaw
// returns the same value. Lazy values are decoded; files are written by their references.
func AppendFrozen(dst []byte, v any) ([]byte, error) { return freezer{dst}.value(v, 0) }

// freezer appends frozen values.
type freezer struct{ dst []byte }

func (z freezer) value(v any, depth int) (_ []byte, err error) {
	if depth > value.MaxDepth {
		return z.dst, errTooDeep
	}
	switch v := v.(type) {
	case value.File:
		facts := v.Info()
		return z.file(FileRef{"file_id": facts.ID, "filename": facts.Name, "content_type": facts.Type})
	case FileRef:
		return z.file(v)
	case *adapters.Content:
		text, err := json.Marshal(v)
		return z.tagged(frozenContent, string(text)), err
	case value.LazyJSON:
		if absent, ok := v.(interface{ IsAbsent() bool }); ok && absent.IsAbsent() {
			return append(z.dst, "null"...), nil
		}
		decoded, err := v.Value()
		if err != nil {
			return z.dst, err
		}
		return z.value(decoded, depth)
	case value.Bytes:
		return z.tagged(frozenBytes, base64.StdEncoding.EncodeToString(v)), nil
	case string:
		if !utf8.ValidString(v) {
			return z.tagged(frozenText, base64.StdEncoding.EncodeToString([]byte(v))), nil
		}
	case float64:
		if math.IsNaN(v) || math.Trunc(v) == v {
			return z.tagged(frozenFloat, strconv.FormatFloat(v, 'g', -1, 64)), nil
		}
	case []any:
		return z.list(v, depth)
	case map[string]any:
		return z.object(v, depth)
	}
	return value.AppendJSON(z.dst, v)
}

func (z freezer) tagged(tag, text string) []byte {
	return append(value.AppendString(append(value.AppendString(append(z.dst, '{'), tag), ':'), text), '}')
}

func (z freezer) file(ref FileRef) ([]byte, error) {
	text, err := value.AppendJSON(nil, map[string]any(ref))
	return z.tagged(frozenFile, string(text)), err
}

func (z freezer) list(list []any, depth int) (_ []byte, err error) {
	z.dst = append(z.dst, '[')
	for i, e := range list {
		if i > 0 {
			z.dst = append(z.dst, ',')
		}
		if z.dst, err = z.value(e, depth+1); err != nil {
			return z.dst, err
		}
	}
	return append(z.dst, ']'), nil
}

func (z freezer) object(m map[string]any, depth int) (_ []byte, err error) {
	z.dst = append(z.dst, '{')
	for i, k := range value.Keys(m) {
		if i > 0 {
			z.dst = append(z.dst, ',')
		}
		name := k
		if strings.HasPrefix(k, "$") {
			name = "$" + k
		}
		z.dst = append(value.AppendString(z.dst, name), ':')
		if z.dst, err = z.value(m[k], depth+1); err != nil {
			return z.dst, err
		}
	}
	return append(z.dst, '}'), nil
}

// Thaw returns the value that AppendFrozen has written. It has a budget of memory, as schema.DecodeWithin has one.
func Thaw(frozen []byte, reserve func(bytes int64) error) (any, error) {
	v, err := schema.DecodeWithin(frozen, reserve)
	if err != nil {
		return nil, err
	}
	return thawValue(v)
}

func thawValue(v any) (_ any, err error) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if v[i], err = thawValue(e); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		return thawObject(v)
	}
	return v, nil
}

func thawObject(m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for k, e := range m {
		name, isName := strings.CutPrefix(k, "$")
		if isName && !strings.HasPrefix(name, "$") {
			return thawTagged(m, k)
		}
		e, err := thawValue(e)
		if err != nil {
			return nil, err
		}
		out[name] = e
	}
	return out, nil
}

func thawTagged(m map[string]any, tag string) (any, error) {
	text, ok := m[tag].(string)
	if !ok || len(m) != 1 {
		return nil, fmt.Errorf("member %q of a frozen value is not its only member and a string", tag)
	}
	switch tag {
	case frozenFloat:
		return strconv.ParseFloat(text, 64)
	case frozenContent:
		content := new(adapters.Content)
		return content, json.Unmarshal([]byte(text), content)
	case frozenFile:
		v, err := value.Decode([]byte(text))
		ref, ok := v.(map[string]any)
		if err == nil && !ok {
			err = errors.New("a frozen file has no reference")
		}
		return FileRef(ref), err
	}
	b, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return nil, err
	case tag == frozenBytes:
		return value.Bytes(b), nil
	case tag == frozenText:
		return string(b), nil
	}
	return nil, fmt.Errorf("a frozen value has the unknown tag %q", tag)
}
