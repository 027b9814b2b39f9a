package definition

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// form is the form of the file, and of its digests, that is read and written.
const form = 1

// File has the pinned definitions of a connection. The zero value is a file without tools.
type File struct {
	tools []Definition // sorted by name
}

// FileError says why a file is not accepted, and where.
type FileError struct {
	Line int    // from 1; 0 for the whole file
	Tool string // the tool that the error is about, or ""
	Text string // sentences for who operates the server
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// New returns a file of these definitions, which Parse returned, in any order. An error says which name two of them
// have, or which bound they exceed.
func New(tools []Definition) (File, error) {
	f := File{tools: slices.Clone(tools)}
	slices.SortFunc(f.tools, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	if len(tools) > MaxTools {
		return File{}, fmt.Errorf("there are %d tools, and a file has at most %d", len(tools), MaxTools)
	}
	for i := 1; i < len(f.tools); i++ {
		if f.tools[i].Name == f.tools[i-1].Name {
			return File{}, fmt.Errorf("two tools have the name %q", f.tools[i].Name)
		}
	}
	if size := len(f.Append(nil)); size > MaxFileSize {
		return File{}, fmt.Errorf("the definitions have %d bytes, and a file has at most %d", size, MaxFileSize)
	}
	return f, nil
}

// Tools returns the definitions, sorted by name. The caller must not change the slice.
func (f File) Tools() []Definition { return f.tools }

// Names returns the names of the tools, sorted.
func (f File) Names() []string {
	names := make([]string, len(f.tools))
	for i, d := range f.tools {
		names[i] = d.Name
	}
	return names
}

// Lookup returns the definition of a tool.
func (f File) Lookup(name string) (Definition, bool) {
	i, ok := slices.BinarySearchFunc(f.tools, name, func(d Definition, name string) int {
		return strings.Compare(d.Name, name)
	})
	if !ok {
		return Definition{}, false
	}
	return f.tools[i], true
}

// Append appends the text of the file: one line for each member of a definition, so that a change of it is reviewed
// line by line. Read returns the file again, and nothing else than these bytes is read.
func (f File) Append(dst []byte) []byte {
	dst = fmt.Appendf(dst, "{\n  \"form\": %d,\n  \"tools\": [", form)
	for i, d := range f.tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n    {\n"...)
		for _, m := range d.members() {
			if m.text != "" {
				dst = fmt.Appendf(dst, "      %q: %s,\n", m.name, m.text)
			}
		}
		dst = fmt.Appendf(dst, "      \"digest\": %q\n    }", d.Digest())
	}
	if len(f.tools) > 0 {
		dst = append(dst, "\n  "...)
	}
	return append(dst, "]\n}\n"...)
}

const edited = "The file was edited. Restore it, or import the server again without --update."

// Read reads a file. Every error is a [*FileError]. A file that differs in any byte from what Append wrote is not
// accepted, except that whole definitions may have been removed.
func Read(text []byte) (File, error) {
	if len(text) > MaxFileSize {
		return File{}, &FileError{Text: fmt.Sprintf("The file has %d bytes, and at most %d are accepted.",
			len(text), MaxFileSize)}
	}
	if i := conflictAt(text); i >= 0 {
		return File{}, &FileError{Line: lineAt(text, i), Text: "The file has the marks of a merge conflict. " +
			"Take one side, and run hatchel import mcp with --update."}
	}
	r := fileReader{text: string(text), scanner: jsonscan.New(text, MaxDepth+2)}
	if err := r.readFile(); err != nil {
		return File{}, r.place(err)
	}
	if err := r.compare(text); err != nil {
		return File{}, err
	}
	return r.file, nil
}

// conflictAt returns the offset of a mark of a merge conflict, or -1. A line of a file never begins with one.
func conflictAt(text []byte) int {
	if bytes.HasPrefix(text, []byte("<<<<<<<")) {
		return 0
	}
	return bytes.Index(text, []byte("\n<<<<<<<"))
}

// lineAt returns the line of an offset, from 1.
func lineAt(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(offset+1, len(text))], []byte("\n"))
}

// fileReader reads one file. The definitions are parts of its text where they can be.
type fileReader struct {
	text    string
	scanner jsonscan.Scanner
	file    File
}

// readFile reads the object of the file.
func (r *fileReader) readFile() error {
	seen := ""
	err := r.object(func(key string) error {
		switch key {
		case "form":
			text, err := r.scanner.Value()
			if err == nil && string(text) != fmt.Sprint(form) {
				return r.fail("", fmt.Sprintf("The file has the form %s. This version of Hatchel reads form %d.",
					text, form))
			}
			seen = key
			return err
		case "tools":
			if seen != "form" {
				return r.fail("", "The file does not begin with its form. "+edited)
			}
			seen = key
			return r.readTools()
		}
		return r.fail("", fmt.Sprintf("A file of form %d has no member %q. %s", form, key, edited))
	})
	switch {
	case err != nil:
		return err
	case !r.scanner.AtEnd():
		return r.scanner.Fail("more text after the value")
	case seen != "tools":
		return &FileError{Text: "The file has no definitions: form and tools are missing. " + edited}
	}
	return nil
}

// object reads an object and calls member before each value.
func (r *fileReader) object(member func(key string) error) error {
	if r.scanner.Peek() != '{' {
		return r.scanner.Fail("an object is expected")
	}
	mark, err := r.scanner.EnterObject()
	for err == nil {
		var key []byte
		if key, err = r.scanner.Key(mark); err != nil || key == nil {
			return err
		}
		err = member(string(key))
	}
	return err
}

func (r *fileReader) readTools() error {
	if r.scanner.Peek() != '[' {
		return r.scanner.Fail("a list is expected")
	}
	if err := r.scanner.EnterArray(); err != nil {
		return err
	}
	for {
		more, err := r.scanner.NextElement()
		if err != nil || !more {
			return err
		}
		if len(r.file.tools) == MaxTools {
			return r.fail("", fmt.Sprintf("The file has more than %d tools.", MaxTools))
		}
		if err := r.readTool(); err != nil {
			return err
		}
	}
}

// readTool reads one definition and checks it against its digest.
func (r *fileReader) readTool() error {
	r.scanner.Peek()
	start := r.scanner.Pos()
	d, said, err := r.readMembers()
	if err != nil {
		return err
	}
	if problem := nameProblem(d.Name); problem != "" {
		return r.failAt(start, "", "A tool has no valid name: "+problem+". "+edited)
	}
	canonical := d.appendCanonical(nil)
	d.digest = digestOf(canonical)
	switch {
	case d.InputSchema == "":
		return r.failAt(start, d.Name, fmt.Sprintf("%s has no inputSchema. %s", d.Name, edited))
	case said != d.digest.String():
		return r.failAt(start, d.Name, fmt.Sprintf("%s does not match its digest. %s", d.Name, edited))
	case len(canonical) > MaxSize:
		return r.failAt(start, d.Name, fmt.Sprintf("The definition of %s has %d bytes, and at most %d are accepted.",
			d.Name, len(canonical), MaxSize))
	}
	if n := len(r.file.tools); n > 0 {
		switch c := strings.Compare(r.file.tools[n-1].Name, d.Name); {
		case c == 0:
			return r.failAt(start, d.Name, fmt.Sprintf("Two tools have the name %s. %s", d.Name, edited))
		case c > 0:
			return r.failAt(start, d.Name, fmt.Sprintf("%s is not in the order of the names. %s", d.Name, edited))
		}
	}
	r.file.tools = append(r.file.tools, d)
	return nil
}

// readMembers reads the members of a definition, and what the file says is its digest.
func (r *fileReader) readMembers() (d Definition, said string, err error) {
	texts := map[string]*string{"name": &d.Name, "title": &d.Title, "description": &d.Description, "digest": &said}
	objects := map[string]*string{"inputSchema": &d.InputSchema, "outputSchema": &d.OutputSchema,
		"annotations": &d.Annotations}
	err = r.object(func(key string) error {
		switch text, object := texts[key], objects[key]; {
		case text != nil:
			s, err := r.textValue()
			*text = s
			return err
		case object != nil:
			s, err := r.objectValue()
			*object = s
			return err
		case key == "execution":
			s, err := r.objectValue()
			if err == nil {
				m, _ := decoded(s).(map[string]any)
				d.TaskSupport, _ = m["taskSupport"].(string)
			}
			return err
		}
		return r.fail(d.Name, fmt.Sprintf("A definition has no member %q. %s", key, edited))
	})
	return d, said, err
}

// textValue reads a string, which is a part of the file's text if it has no escape sequence.
func (r *fileReader) textValue() (string, error) {
	if r.scanner.Peek() != '"' {
		return "", r.scanner.Fail("a string is expected")
	}
	start := r.scanner.Pos()
	raw, err := r.scanner.Value()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return r.text[start+1 : r.scanner.Pos()-1], nil
	}
	v, err := value.Decode(raw)
	s, _ := v.(string)
	return s, err
}

// objectValue reads an object, which is a part of the file's text.
func (r *fileReader) objectValue() (string, error) {
	if r.scanner.Peek() != '{' {
		return "", r.scanner.Fail("an object is expected")
	}
	start := r.scanner.Pos()
	_, err := r.scanner.Value()
	return r.text[start:r.scanner.Pos()], err
}

func (r *fileReader) fail(tool, text string) error { return r.failAt(r.scanner.Pos(), tool, text) }

func (r *fileReader) failAt(offset int, tool, text string) error {
	return &FileError{Line: lineAt([]byte(r.text), offset), Tool: tool, Text: text}
}

// place returns an error with its line.
func (r *fileReader) place(err error) error {
	syntax, ok := errors.AsType[*jsonscan.SyntaxError](err)
	if !ok {
		return err
	}
	return r.failAt(syntax.Offset, "", "The file is not JSON: "+syntax.Reason+".")
}

// compare refuses a file that has other bytes than the one that is written of its definitions: white space, another
// order of members, or another spelling of a text.
func (r *fileReader) compare(text []byte) error {
	written := r.file.Append(nil)
	if bytes.Equal(text, written) {
		return nil
	}
	at := 0
	for at < len(text) && at < len(written) && text[at] == written[at] {
		at++
	}
	e := &FileError{Line: lineAt(text, at-1), Text: "The text of the file is not what Hatchel writes. " + edited}
	if bytes.Equal(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), written) {
		e.Text = `The lines of the file end with \r\n. Write "*.tools.json -text" to .gitattributes, and check the ` +
			"file out again."
	}
	return e
}
