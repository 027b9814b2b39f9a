package openapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/syntax"
)

// importPaths imports the operations of some paths, with components, and returns the formatted files as one text.
func importPaths(t *testing.T, paths, components string, change func(*Options)) (string, *importer.Result) {
	t.Helper()
	r, err := importText(t, `{"openapi": "3.1.0", "info": {"title": "Shop"}, "servers": [{"url": "https://shop.test"}],
		"paths": {`+paths+`}, "components": {"schemas": {`+components+`}}}`, change)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, b := range r.Blocks {
		all.WriteString(b.Text + "\n\n")
	}
	formatted, diags := syntax.Format("all.hcl", []byte(all.String()))
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, all.String())
	}
	return string(formatted), r
}

func withReturns(o *Options) { o.Returns = true }

const order = `"Order": {"required": ["id", "status"], "properties": {"id": {"type": "integer", "readOnly": true, "minimum": 1},
	"status": {"enum": ["open", "paid"]}, "of": {"$ref": "#/components/schemas/Order"}, "note": {"type": "string", "writeOnly": true}}}`

func answers(schema string) string {
	return `"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": ` + schema + `}}}}`
}

func TestResultsAreDeclaredLeniently(t *testing.T) {
	get := `"/orders/{id}": {"get": {` + answers(`{"$ref": "#/components/schemas/Order"}`) + `}}`
	got, _ := importPaths(t, get, order, withReturns)
	for _, want := range []string{
		"returns = type.order_result",
		"id     = integer\n",
		`status = optional(nullable(string("Such as open, paid.")))`,
		"of     = optional(nullable(type.order_result))",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "note") || strings.Contains(got, "min =") {
		t.Errorf("a member that is only written, or a bound, is in\n%s", got)
	}
	if got, _ := importPaths(t, get, order, nil); strings.Contains(got, "returns") {
		t.Errorf("nobody asked for returns:\n%s", got)
	}
}

func TestTheResultOfAPaginatedListIsItsItems(t *testing.T) {
	got, _ := importPaths(t, `"/orders": {"get": {"parameters": [{"name": "cursor", "in": "query", "schema": {"type": "string"}}], `+
		answers(`{"properties": {"next_cursor": {"type": "string"}, "items": {"type": "array", "items": {"properties": {"a": {"type": "string"}}}}}}`)+
		`}}`, order, withReturns)
	if !strings.Contains(got, "returns = list(object({\n    a = optional(nullable(string))\n  }))") || !strings.Contains(got, "paginate {") {
		t.Errorf("got\n%s", got)
	}
}

func TestAnAnswerThatMayBeEmptyDeclaresNoResult(t *testing.T) {
	got, r := importPaths(t, `"/orders/{id}": {"get": {`+strings.Replace(answers(`{"$ref": "#/components/schemas/Order"}`), `"200"`,
		`"204": {"description": "none"}, "200"`, 1)+`}}`, order, withReturns)
	if strings.Contains(got, "returns") || len(r.Losses) != 2 || r.Losses[1].Detail != "an answer with the status 204 is empty" {
		t.Errorf("got %v\n%s", r.Losses, got)
	}
}

func TestComponentsThatContainThemselvesAreTypesThatDo(t *testing.T) {
	body := func(schema string) string {
		return `"/a": {"post": {"requestBody": {"required": true, "content": {"application/json": {"schema": ` + schema + `}}}}}`
	}
	ref := func(name string) string { return `{"$ref": "#/components/schemas/` + name + `"}` }
	for name, test := range map[string]struct{ paths, components, want string }{
		"in an optional member": {body(ref("Node")), `"Node": {"properties": {"next": ` + ref("Node") + `}}`,
			`next = optional(type.node)`},
		"in a list": {body(ref("Node")), `"Node": {"required": ["all"], "properties": {"all": {"type": "array", "items": ` + ref("Node") + `}}}`,
			`all = list(type.node)`},
		"in alternatives": {body(`{"properties": {"where": ` + ref("Filter") + `}}`), `"Filter": {"oneOf": [{"type": "string"},
			{"required": ["not"], "properties": {"not": ` + ref("Filter") + `}}, {"type": "array", "items": ` + ref("Filter") + `}]}`,
			`list(type.filter)`},
		"through another component": {body(ref("A")), `"A": {"properties": {"b": ` + ref("B") + `}}, "B": {"type": "object",
			"additionalProperties": ` + ref("A") + `}`, `input "b" { type = optional(type.b) }`},
		"a value without an end": {body(ref("Node")), `"Node": {"required": ["next"], "properties": {"next": ` + ref("Node") + `}}`,
			`next = any("An object with next.")`},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := importPaths(t, test.paths, test.components, nil)
			if !strings.Contains(got, test.want) {
				t.Errorf("%q is not in\n%s", test.want, got)
			}
		})
	}
}

func TestNamesThatContradictTheMethodAreReported(t *testing.T) {
	_, r := importPaths(t, `"/orders/cancel": {"get": {}}, "/orders/search": {"post": {}}, "/x": {"get": {"operationId": "deleteCache"},
		"post": {"operationId": "createSearch"}}, "/b": {"get": {"summary": "Sends a mail"}, "post": {"summary": "Search"}},
		"/c": {"get": {"operationId": "bulkSend_getLists"}, "post": {"operationId": "answerQuery"}}, "/views": {"post": {}}`, "", nil)
	var got []string
	for _, l := range r.Losses {
		got = append(got, l.Name+": "+l.Kind)
	}
	want := []string{"GET that seems to write", "POST that seems to read", "GET that seems to write", "GET that seems to write",
		"POST that seems to read"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i, w := range want {
		if !strings.HasSuffix(got[i], w) {
			t.Errorf("%d: got %q, want %s", i, got[i], w)
		}
	}
}

// doubling returns components of which each has the next several times: written in place, they would be 8^20 objects.
func doubling() string {
	var all strings.Builder
	for i := range 20 {
		fmt.Fprintf(&all, `"C%d": {"properties": {`, i)
		for m := range 8 {
			fmt.Fprintf(&all, `"m%d": {"$ref": "#/components/schemas/C%d"},`, m, i+1)
		}
		all.WriteString(`"z": {"type": "string"}}},`)
	}
	return all.String() + `"C20": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"},
		"d": {"type": "string"}}}`
}

func TestAComponentThatOccursAgainIsWrittenOnce(t *testing.T) {
	got, _ := importPaths(t, `"/a": {"post": {"requestBody": {"required": true, "content": {"application/json": {"schema":
		{"properties": {"from": {"$ref": "#/components/schemas/C20"}, "to": {"type": "array", "items": {"$ref": "#/components/schemas/C20"}},
		"deep": {"$ref": "#/components/schemas/C0"}}}}}}}}`, doubling(), nil)
	for _, want := range []string{`input "from" { type = optional(type.c20) }`, `input "to" { type = optional(list(type.c20)) }`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Count(got, "b = optional(string)") != 1 || len(got) > 20<<10 {
		t.Errorf("got %d bytes:\n%s", len(got), got[:min(len(got), 2000)])
	}
}

func TestASchemaThatCannotBecomeSmallEnoughIsReported(t *testing.T) {
	var parameters []string
	for i := range 300 {
		parameters = append(parameters, fmt.Sprintf(`{"name": "parameter_with_a_long_name_%d", "in": "query", "schema": {"type": "string"}}`, i))
	}
	_, r := importPaths(t, `"/a": {"get": {"parameters": [`+strings.Join(parameters, ",")+`]}}`, "", nil)
	if len(r.Losses) != 1 || r.Losses[0].Kind != "schema stays too large" || r.Losses[0].Origin == "" {
		t.Errorf("got %v", r.Losses)
	}
}

func TestConnectionsToOneServerShareItsVariable(t *testing.T) {
	got, _ := importPaths(t, `"/a": {"get": {"security": [{"key": []}]}}, "/b": {"get": {"security": []}}`,
		`}, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}`, nil)
	if strings.Count(got, "variable ") != 1 || strings.Count(got, "base_url = var.shop_url") != 2 {
		t.Errorf("got\n%s", got)
	}
}

func TestATableSuggestsATagThatNeedsNoMoreSelection(t *testing.T) {
	operations := func(tag string, n int) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, `,"/%s/{id}/%d": {"get": {"tags": ["%s"]}}`, tag, i, tag)
		}
		return all.String()
	}
	doc := `{"openapi": "3.1.0", "paths": {` + (operations("all", 50) + operations("some", 7) + operations("few", 2))[1:] + `}}`
	_, err := importText(t, doc, func(o *Options) { o.All = false })
	tooMany, ok := errors.AsType[*TooMany](err)
	if !ok {
		t.Fatal(err)
	}
	got := tooMany.Table("shop.json")
	for _, want := range []string{"some         7         7         0", `shop.json -o tools --tag "some" --read-only`, `--path "/all/**"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
