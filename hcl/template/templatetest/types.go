package templatetest

import (
	"strings"
	"testing"

	"hatchel/hcl/template"
)

// Types reads the types of names, one a line: "name kind [?] [words of an enum]".
func Types(t testing.TB, text string) map[string]template.Type {
	t.Helper()
	table := map[string]template.Type{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kind, nullable := strings.CutSuffix(fields[1], "?")
		typ, ok := kinds[kind]
		if !ok {
			t.Fatalf("no kind %s", kind)
		}
		typ.Nullable = nullable
		switch kind {
		case "enum":
			typ.Values = fields[2:]
		case "list":
			if len(fields) > 2 {
				elem := kinds[fields[2]]
				typ.Elem = &elem
			}
		case "known":
			typ.Known, typ.Constant = true, strings.Join(fields[2:], " ")
		}
		table[fields[0]] = typ
	}
	return table
}

var kinds = map[string]template.Type{
	"any": {}, "string": {Kind: template.String}, "number": {Kind: template.Number},
	"integer": {Kind: template.Integer}, "bool": {Kind: template.Bool},
	"enum": {Kind: template.Enum}, "list": {Kind: template.List}, "object": {Kind: template.Object},
	"filename": {Kind: template.String, FileName: true},
	"word":     {Kind: template.String, Word: true},
	"bytes":    {Kind: template.Bytes}, "known": {Kind: template.String},
}
