package schema

import "hatchel/hcl/value"

func isJSONText(v any) bool  { _, ok := v.(string); return ok }
func isJSONCount(v any) bool { n, ok := value.Int(v); return ok && n >= 0 }
func isJSONBool(v any) bool  { _, ok := v.(bool); return ok }
func isJSONList(v any) bool  { _, ok := v.([]any); return ok }

// isPlain reports whether a schema is certainly valid in every draft that is read, because it has the most common
// keywords only. The library, which takes most of the time of a load, compiles it when it is first used.
func isPlain(raw any) bool {
	m, ok := raw.(map[string]any)
	if !ok {
		return isJSONBool(raw)
	}
	for name, v := range m {
		if !isPlainKeyword(name, v) {
			return false
		}
	}
	return true
}

// isPlainKeyword reports whether a keyword is one of a plain schema, and its value is valid.
func isPlainKeyword(name string, v any) bool {
	switch name {
	case "$schema", "title", "description", "format":
		return isJSONText(v)
	case "type":
		return isJSONText(v) && jsonTypes[v.(string)]
	case "default", "const":
		return true
	case "examples":
		return isJSONList(v)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return value.IsNumber(v)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return isJSONCount(v)
	case "uniqueItems":
		return isJSONBool(v)
	case "pattern":
		source, ok := v.(string)
		_, err := NewPattern(source)
		return ok && err == nil
	case "items", "additionalProperties":
		return isPlain(v)
	case "anyOf":
		list, _ := v.([]any)
		for _, one := range list {
			if !isPlain(one) {
				return false
			}
		}
		return len(list) > 0
	case "properties":
		members, ok := v.(map[string]any)
		for _, one := range members {
			if !isPlain(one) {
				return false
			}
		}
		return ok
	case "required":
		return isJSONList(v) && areNames(v.([]any))
	case "enum":
		return isJSONList(v) && len(v.([]any)) > 0 && areNames(v.([]any))
	}
	return false
}

// areNames reports whether the elements of a list are different texts.
func areNames(list []any) bool {
	seen := map[any]bool{}
	for _, one := range list {
		if !isJSONText(one) || seen[one] {
			return false
		}
		seen[one] = true
	}
	return true
}

// jsonTypes are the names of the types of JSON Schema.
var jsonTypes = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "null": true,
	"array": true, "object": true}
