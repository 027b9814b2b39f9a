package schema

import "strings"

// constructors holds what each type constructor needs.
var constructors = map[string]string{
	"list":     "the type of its elements, like list(string); write list(any) for elements of every type",
	"set":      "the type of its elements, like set(string); write set(any) for elements of every type",
	"map":      "the type of its elements, like map(number); write map(any) for elements of every type",
	"object":   "its members, like object({ name = string }); write map(any) for an object with unknown members",
	"enum":     `its values, like enum("a", "b")`,
	"optional": "a type, like optional(string)",
	"nullable": "a type, like nullable(string)",
}

var typeNames = []string{"string", "number", "integer", "bool", "any", "list", "set", "map", "object", "enum", "file",
	"optional", "nullable", "type"}

// aliases maps type names of other languages to the types of this language.
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

// aliasOf returns the type that corresponds to a type name of another language, and the nearest
// type name.
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
