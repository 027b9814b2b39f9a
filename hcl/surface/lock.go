package surface

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

const (
	maxLock      = 64 << 20            // bytes
	maxLockDepth = value.MaxDepth + 10 // of the JSON; a schema may have value.MaxDepth levels
)

// lockFile is the content of a lock.
type lockFile struct {
	Version     int                    `json:"version"`
	Server      Server                 `json:"server"`
	Tools       map[string]*Tool       `json:"tools"`
	Prompts     map[string]*Prompt     `json:"prompts,omitempty"`
	Resources   map[string]*Resource   `json:"resources,omitempty"`
	Skills      map[string]*Skill      `json:"skills,omitempty"`
	Toolsets    map[string]*Toolset    `json:"toolsets,omitempty"`
	Policies    map[string]*Policy     `json:"policies,omitempty"`
	Masks       map[string]*Mask       `json:"masks,omitempty"`
	Connections map[string]*Connection `json:"connections,omitempty"`
	Settings    map[string]*Setting    `json:"settings,omitempty"`

	Access map[string]map[string]string `json:"access,omitempty"`
}

// Lock returns the surface as a file: JSON whose members are sorted and whose values are canonical (RFC
// 8785), with one line for each member of a tool, so that the difference of two locks is readable.
// Equal surfaces have equal locks.
func (s *Surface) Lock() []byte {
	whole := toJSON(s.file()).(map[string]any)
	var out bytes.Buffer
	writeLines(&out, whole, 0)
	out.WriteByte('\n')
	return out.Bytes()
}

func (s *Surface) file() lockFile {
	return lockFile{Version, s.Server, s.Tools, s.Prompts, s.Resources, s.Skills, s.Toolsets, s.Policies, s.Masks,
		s.Connections,
		s.Settings, s.Access}
}

// lockDepth is how many levels of objects have a line for each member.
const lockDepth = 3

// writeLines writes a value with a line for each member of its objects, as deep as lockDepth.
func writeLines(out *bytes.Buffer, v any, depth int) {
	m, ok := v.(map[string]any)
	if !ok || depth >= lockDepth || len(m) == 0 {
		out.Write(value.AppendCanonical(nil, v))
		return
	}
	out.WriteByte('{')
	for i, name := range value.CanonicalKeys(m) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + strings.Repeat(" ", depth+1))
		out.Write(value.AppendCanonicalString(nil, name))
		out.WriteString(": ")
		if server, ok := m[name].(map[string]any); ok && depth == 0 && name == "server" {
			writeServer(out, server)
			continue
		}
		writeLines(out, m[name], depth+1)
	}
	out.WriteString("\n" + strings.Repeat(" ", depth) + "}")
}

// writeServer writes the members of the server, each of which has one line.
func writeServer(out *bytes.Buffer, m map[string]any) {
	out.WriteByte('{')
	for i, name := range value.CanonicalKeys(m) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n  ")
		out.Write(value.AppendCanonicalString(nil, name))
		out.WriteString(": ")
		out.Write(value.AppendCanonical(nil, m[name]))
	}
	out.WriteString("\n }")
}

// LockError is a lock that cannot be read.
type LockError struct {
	Line int // 0 if unknown
	Text string
}

func (e *LockError) Error() string { return e.Text }

// ReadLock reads a lock. The error is a *LockError: a file that is not a lock, of a later version, with
// merge markers, or edited by hand.
func ReadLock(text []byte, kinds hcl.Kinds) (*Surface, error) {
	if len(text) > maxLock {
		return nil, &LockError{Text: fmt.Sprintf("it has more than %d bytes", maxLock)}
	}
	if at := mergeMarker(text); at > 0 {
		return nil, &LockError{Line: at, Text: "it has merge markers: resolve the conflict in the .hcl files and run " +
			"hatchel lock"}
	}
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	var head struct {
		Version any `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, &LockError{Line: lineOf(text, err), Text: "it is not a lock of hatchel: it is no object"}
	}
	version, ok := head.Version.(float64)
	switch {
	case !ok || version < 1:
		return nil, &LockError{Text: "it is not a lock of hatchel: it has no version"}
	case version == 1:
		return readEarlier(text)
	case version != float64(int(version)):
		return nil, &LockError{Text: fmt.Sprintf("it is not a lock of hatchel: it has version %v", version)}
	case version > Version:
		return nil, &LockError{Text: fmt.Sprintf("it has version %v, and this hatchel reads versions up to %d: "+
			"update hatchel", version, Version)}
	}
	var f lockFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, &LockError{Line: lineOf(text, err), Text: "it is not a lock of hatchel: " + reason(err)}
	}
	s, operations, err := f.surface(kinds)
	if err != nil {
		return nil, err
	}
	for _, name := range diag.SortedNames(operations) {
		op := operations[name].operation
		said := op.Digest
		op.Digest = ""
		if digest(canonical(operations[name].entry)) != said {
			return nil, digestError(text, name)
		}
		op.Digest = said
	}
	for _, name := range diag.SortedNames(s.Tools) {
		if f.Access[name] == nil {
			const format = "it does not say who may call the tool %s, so the file was edited by hand: run hatchel lock"
			return nil, &LockError{Line: lineOfEntry(text, "tool "+name), Text: fmt.Sprintf(format, name)}
		}
	}
	return s, nil
}

// checkJSON reports what is not JSON, and what readers of JSON read differently: a key that an object has twice.
func checkJSON(text []byte) error {
	var s jsonscan.Scanner
	s.Reset(text, maxLockDepth)
	_, err := s.Value()
	if err == nil && !s.AtEnd() {
		err = s.Fail("more text after the value")
	}
	var bad *jsonscan.SyntaxError
	if !errors.As(err, &bad) {
		return nil
	}
	line := 1 + bytes.Count(text[:min(bad.Offset, len(text))], []byte("\n"))
	switch {
	case errors.Is(err, jsonscan.ErrDuplicateKey):
		return &LockError{Line: line, Text: "it was edited or merged by hand: " + bad.Reason + ". Run hatchel lock"}
	case errors.Is(err, jsonscan.ErrTooDeep):
		return &LockError{Line: line, Text: "it is not a lock of hatchel: " + bad.Reason}
	}
	return &LockError{Line: line, Text: "it is not JSON: run hatchel lock"}
}

// lockedOperation is an operation of a lock, and the tool, prompt or resource that it belongs to.
type lockedOperation struct {
	operation *Operation
	entry     any
}

// surface returns the surface of a lock, and its operations by their names, such as "tool pay".
func (f *lockFile) surface(kinds hcl.Kinds) (*Surface, map[string]lockedOperation, error) {
	s := &Surface{Server: f.Server, Tools: orEmpty(f.Tools), Prompts: orEmpty(f.Prompts),
		Resources: orEmpty(f.Resources), Skills: orEmpty(f.Skills), Toolsets: orEmpty(f.Toolsets),
		Policies: orEmpty(f.Policies), Masks: orEmpty(f.Masks), Connections: orEmpty(f.Connections),
		Settings: orEmpty(f.Settings), Access: f.Access}
	if err := checkAccess(f.Access); err != nil {
		return nil, nil, err
	}
	operations := map[string]lockedOperation{}
	for name, t := range s.Tools {
		if t != nil {
			t.Output = exact(t.Output)
			operations["tool "+name] = lockedOperation{&t.Operation, t}
		}
	}
	for name, p := range s.Prompts {
		if p != nil {
			operations["prompt "+name] = lockedOperation{&p.Operation, p}
		}
	}
	for name, r := range s.Resources {
		if r != nil {
			operations["resource "+name] = lockedOperation{&r.Operation, r}
		}
	}
	for name, k := range s.Skills {
		if k != nil {
			operations["skill "+name] = lockedOperation{&k.Operation, k}
		}
	}
	if len(operations) != len(s.Tools)+len(s.Prompts)+len(s.Resources)+len(s.Skills) || hasNull(s.Toolsets) ||
		hasNull(s.Policies) || hasNull(s.Connections) || hasNull(s.Settings) || hasNullPart(operations) {
		return nil, nil, &LockError{Text: "it is not a lock of hatchel: an entry is null"}
	}
	for _, op := range operations {
		op.operation.Input = exact(op.operation.Input)
		for _, step := range op.operation.Steps {
			step.traits = kinds.Traits(step.Kind)
			for path := range step.Types {
				step.Types[path] = exact(step.Types[path])
			}
		}
	}
	for _, setting := range s.Settings {
		setting.Type = exact(setting.Type)
	}
	return s, operations, nil
}

func hasNull[V any](m map[string]*V) bool {
	for _, v := range m {
		if v == nil {
			return true
		}
	}
	return false
}

// hasNullPart reports whether a step or an approval of an operation is null.
func hasNullPart(operations map[string]lockedOperation) bool {
	for _, op := range operations {
		if slices.Contains(op.operation.Steps, nil) || slices.Contains(op.operation.May.Approval, nil) {
			return true
		}
	}
	return false
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// exact returns a decoded JSON value with numbers as package value has them.
func exact(v any) any {
	if v == nil {
		return nil
	}
	out, err := value.Decode(value.AppendCanonical(nil, v))
	if err != nil {
		return v
	}
	return out
}

// mergeMarker returns the line of the first merge marker; 0 for none.
func mergeMarker(text []byte) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, marker := range []string{"<<<<<<< ", "=======", ">>>>>>> ", "||||||| "} {
			if bytes.HasPrefix(line, []byte(marker)) {
				return i + 1
			}
		}
	}
	return 0
}

// lineOf returns the line of an error of encoding/json; 0 if it has none.
func lineOf(text []byte, err error) int {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &typed):
		offset = typed.Offset
	}
	if offset < 0 || offset > int64(len(text)) {
		return 0
	}
	return 1 + bytes.Count(text[:offset], []byte("\n"))
}

// lineOfEntry returns the line of an operation, such as "tool pay", as Lock writes it; 0 if it is not there.
func lineOfEntry(text []byte, operation string) int {
	kind, name, _ := strings.Cut(operation, " ")
	section := bytes.Index(text, []byte("\n \""+kind+"s\": {"))
	at := bytes.Index(text[max(section, 0):], append(value.AppendCanonicalString([]byte("\n  "), name), ": {"...))
	if section < 0 || at < 0 {
		return 0
	}
	return 2 + bytes.Count(text[:section+at], []byte("\n"))
}

// reason returns an error of encoding/json in the words of the file.
func reason(err error) string {
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		return fmt.Sprintf("%s cannot be %s", typed.Field, diag.WithArticle(typed.Value))
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
