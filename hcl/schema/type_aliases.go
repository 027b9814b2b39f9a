package schema

import "strings"

// constructors holds what each type constructor needs.
var constructors = map[string]string{
	"list":     "the type of its elements, like list(string); write list(any) for elements of every type",
	"set":      "the type of its elements, like set(string); write set(any) for elements of every type",
	"map":      "the type of its elements, like map(number); write map(any) for elements of every type",
	"object":   "its members, like object({ name = string }); write map(any) for an object with unknown members",
	"enum":     `its values, like enum("a", "b")`,
	"one_of":   "at least two types, like one_of(string, list(string)); write one type alone",
	"optional": "a type, like optional(string)",
	"nullable": "a type, like nullable(string)",
}

var typeNames = []string{"string", "number", "integer", "bool", "any", "list", "set", "map", "object", "enum",
	"one_of", "file", "optional", "nullable", "type"}

// aliases maps type names of other languages to the types of this language.
var aliases = map[string]string{
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "uint": "integer", "num": "number",
	"float": "number", "float64": "number", "double": "number", "decimal": "number", "numeric": "number",
	"boolean": "bool", "str": "string", "text": "string", "varchar": "string", "char": "string", "dynamic": "any",
	"array": "list(string)", "tuple": "list(string)", "slice": "list(string)", "dict": "map(string)",
	"hash": "map(string)", "struct": "object({ name = string })", "record": "object({ name = string })",
	"object": "object({ name = string })", "attachment": "file", "upload": "file", "blob": "file", "binary": "file",
	"date": `string("...", { format = "date" })`, "datetime": `string("...", { format = "date-time" })`,
	"timestamp": `string("...", { format = "date-time" })`, "time": `string("...", { format = "time" })`,
	"uuid": `string("...", { format = "uuid" })`, "email": `string("...", { format = "email" })`,
	"url": `string("...", { format = "uri" })`, "uri": `string("...", { format = "uri" })`,
}

// namedType returns the type that a name of this or another language means, and how it is written,
// or "" if the name is unknown.
func namedType(name string) (written string, t *Type) {
	written = name
	if _, ok := scalars[name]; !ok {
		written = aliases[strings.ToLower(name)]
	}
	word, _, _ := strings.Cut(written, "(")
	kind, ok := scalars[word]
	return written, &Type{Kind: kind, broken: !ok}
}
