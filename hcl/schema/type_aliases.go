package schema

import "strings"

// constructorExamples says how a type constructor is written; one that stands bare is answered with
// its form.
var constructorExamples = map[string]string{
	"list": "list(string)", "set": "set(string)", "map": "map(number)", "object": "object({ name = string })",
	"enum": `enum("a", "b")`, "optional": "optional(string)", "nullable": "nullable(string)",
}

var typeNames = []string{"string", "number", "integer", "bool", "any", "list", "set", "map", "object", "enum", "file",
	"optional", "nullable", "type"}

// aliases are names that other languages give to our types, and how ours is written.
var aliases = map[string]string{
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "uint": "integer",
	"float": "number", "float64": "number", "double": "number", "decimal": "number", "numeric": "number",
	"num":     "number",
	"boolean": "bool", "str": "string", "text": "string", "varchar": "string", "char": "string", "dynamic": "any",
	"object": "object({ name = string })",
	"array":  "list(string)", "tuple": "list(string)", "slice": "list(string)", "dict": "map(string)",
	"hash": "map(string)", "struct": "object({ name = string })", "record": "object({ name = string })",
	"attachment": "file", "upload": "file", "blob": "file", "binary": "file",
	"date": `string("...", { format = "date" })`, "datetime": `string("...", { format = "date-time" })`,
	"timestamp": `string("...", { format = "date-time" })`,
	"time":      `string("...", { format = "time" })`, "uuid": `string("...", { format = "uuid" })`,
	"email": `string("...", { format = "email" })`, "url": `string("...", { format = "uri" })`,
	"uri": `string("...", { format = "uri" })`,
}

func isTypeName(text string) bool {
	_, scalar := scalars[text]
	return scalar || aliases[strings.ToLower(text)] != ""
}

// aliasOf returns how a type of another language is written here, and the nearest type.
func aliasOf(name string) (string, *Type) {
	rewritten := aliases[strings.ToLower(name)]
	if rewritten == "" {
		return "", nil
	}
	word, _, _ := strings.Cut(rewritten, "(")
	kind, scalar := scalars[word]
	if !scalar {
		return rewritten, brokenType()
	}
	return rewritten, &Type{Kind: kind}
}
