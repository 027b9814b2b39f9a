// Package definition pins what MCP servers say of their tools: it reads the definition of a tool from
// a server's list, writes definitions to the file of a connection, reads that file, and compares what
// a server says today with what was reviewed.
//
// A definition is kept as canonical JSON (RFC 8785), so that two are equal exactly if their texts are.
// A number that no double can hold keeps the digits that the server wrote, because RFC 8785 has no form
// for it: the pin of 9007199254740993 differs from that of 9007199254740992.
//
// Everything here is immutable and safe for concurrent use.
package definition

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Bounds of what is accepted.
const (
	MaxSize     = 64 << 10 // bytes of one definition, canonical
	MaxFileSize = 4 << 20  // bytes of a file
	MaxTools    = 1000     // of a file
	MaxDepth    = 64       // levels of nesting in a definition, whose own object is one
	maxNameSize = 256      // bytes of the name of a tool
)

// Definition is what a server says of one tool: what a review covers. The zero value is none.
type Definition struct {
	Name, Title, Description string

	// Canonical JSON. InputSchema is never empty; the others are "" if the server said nothing, null or, in the
	// annotations, nothing at all.
	InputSchema, OutputSchema, Annotations string

	// TaskSupport says whether a call may become a task of the server: "optional", "required", or "" for never.
	TaskSupport string

	digest digest
}

// Hints are the annotations of a tool that say what it does. Nil is what the server did not say.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// Parse reads one element of the list of tools as the server sent it. Members that no review covers, such as icons and
// _meta, are left out. Absent, null and empty members are the same. The error is a sentence without the name of the
// tool; the definition has its name if the text has one that is valid.
func Parse(text []byte) (Definition, error) {
	s := jsonscan.New(text, MaxDepth)
	if _, err := s.Value(); err != nil {
		return Definition{}, err
	}
	v, err := value.Decode(text)
	if err != nil {
		return Definition{}, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return Definition{}, fmt.Errorf("a definition is an object, not a %s", value.Kind(v))
	}
	return read(m)
}

// read makes a definition of a decoded one.
func read(m map[string]any) (d Definition, err error) {
	if d.Name, err = textOf(m, "name"); err != nil {
		return d, err
	}
	if problem := nameProblem(d.Name); problem != "" {
		d.Name = ""
		return d, errors.New(problem)
	}
	if d.Title, err = textOf(m, "title"); err != nil {
		return d, err
	}
	if d.Description, err = textOf(m, "description"); err != nil {
		return d, err
	}
	if d.InputSchema, err = objectOf(m, "inputSchema"); err != nil {
		return d, err
	}
	if d.InputSchema == "" {
		return d, errors.New("inputSchema is missing")
	}
	if d.OutputSchema, err = objectOf(m, "outputSchema"); err != nil {
		return d, err
	}
	if d.Annotations, err = annotationsOf(m); err != nil {
		return d, err
	}
	if d.TaskSupport, err = taskSupportOf(m); err != nil {
		return d, err
	}
	text := d.appendCanonical(nil)
	if len(text) > MaxSize {
		return d, fmt.Errorf("the definition has %d bytes, and at most %d are accepted", len(text), MaxSize)
	}
	d.digest = digestOf(text)
	return d, nil
}

// nameProblem returns why a text is no name of a tool, or "".
func nameProblem(name string) string {
	switch {
	case name == "":
		return "name is missing"
	case len(name) > maxNameSize:
		return fmt.Sprintf("name has %d bytes, and at most %d are accepted", len(name), maxNameSize)
	case !utf8.ValidString(name):
		return "name is not UTF-8"
	}
	return ""
}

func textOf(m map[string]any, name string) (string, error) {
	s, ok := m[name].(string)
	if !ok && m[name] != nil {
		return "", fmt.Errorf("%s is a string, not a %s", name, value.Kind(m[name]))
	}
	return s, nil
}

func objectOf(m map[string]any, name string) (string, error) {
	o, ok := m[name].(map[string]any)
	switch {
	case ok:
		return string(value.AppendCanonical(nil, o)), nil
	case m[name] != nil:
		return "", fmt.Errorf("%s is an object, not a %s", name, value.Kind(m[name]))
	}
	return "", nil
}

// annotationsOf returns the annotations without those that are null.
func annotationsOf(m map[string]any) (string, error) {
	all, ok := m["annotations"].(map[string]any)
	if !ok && m["annotations"] != nil {
		return "", fmt.Errorf("annotations is an object, not a %s", value.Kind(m["annotations"]))
	}
	said := map[string]any{}
	for name, v := range all {
		if v != nil {
			said[name] = v
		}
	}
	for _, name := range hintNames {
		if _, ok := said[name].(bool); !ok && said[name] != nil {
			return "", fmt.Errorf("annotations.%s is true or false, not a %s", name, value.Kind(said[name]))
		}
	}
	if len(said) == 0 {
		return "", nil
	}
	return string(value.AppendCanonical(nil, said)), nil
}

func taskSupportOf(m map[string]any) (string, error) {
	execution, ok := m["execution"].(map[string]any)
	if !ok && m["execution"] != nil {
		return "", fmt.Errorf("execution is an object, not a %s", value.Kind(m["execution"]))
	}
	switch support := execution["taskSupport"]; support {
	case nil, "forbidden":
		return "", nil
	case "optional", "required":
		return support.(string), nil
	default:
		return "", errors.New(`execution.taskSupport is none of "forbidden", "optional" and "required"`)
	}
}

const (
	readOnlyHint    = "readOnlyHint"
	destructiveHint = "destructiveHint"
	idempotentHint  = "idempotentHint"
	openWorldHint   = "openWorldHint"
)

var hintNames = []string{readOnlyHint, destructiveHint, idempotentHint, openWorldHint}

// Hints returns what the annotations say of the tool's effects.
func (d Definition) Hints() (h Hints) {
	said := d.annotations()
	hint := func(name string) *bool {
		if b, ok := said[name].(bool); ok {
			return &b
		}
		return nil
	}
	return Hints{hint(readOnlyHint), hint(destructiveHint), hint(idempotentHint), hint(openWorldHint)}
}

// annotations returns the decoded annotations.
func (d Definition) annotations() map[string]any {
	said, _ := decoded(d.Annotations).(map[string]any)
	return said
}

// decoded returns the value of canonical JSON, or nil for none.
func decoded(text string) any {
	if text == "" {
		return nil
	}
	v, err := value.Decode([]byte(text))
	if err != nil {
		return nil // a file can have it only if its digest was computed by hand
	}
	return v
}

// Digest returns the SHA-256 digest of the whole definition, as in "sha256:0a1b…". It is that of the object in the
// file without its member digest, in canonical form.
func (d Definition) Digest() string { return d.digest.String() }

// Equal reports whether two definitions are the same.
func (d Definition) Equal(o Definition) bool { return d == o }
