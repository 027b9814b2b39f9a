package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/files"
	"hatchel/runtime/stage/result"
)

// callFiles are the uploaded files of a call.
type callFiles struct {
	set    *fileSet // nil when there are none
	own    bool     // set belongs to this call, and not to the one that it is a step of
	dryRun bool     // no file is staged, and no URL signed
}

// fileSet are the uploaded files of one call, and of the tools that its steps call.
type fileSet struct {
	ctx    context.Context // of the call
	store  *files.Store
	rules  files.Rules
	owner  string
	staged *files.StagedFiles
	dryRun bool // no file is staged, and no URL signed
}

// open returns the files of the call. The first use makes them.
func (f *callFiles) open(env *Environment, call *adapters.Call) *fileSet {
	if f.set == nil {
		f.own, f.set = true, &fileSet{
			ctx: call.Frame.Context, store: env.Files, rules: *env.Uploads, owner: call.Owner,
			staged: env.Files.Stage(), dryRun: f.dryRun,
		}
		call.Frame.StagedDir = f.set.staged.Dir
	}
	return f.set
}

// share makes the files of the outer call those of this one.
func (f *callFiles) share(set *fileSet, frame *hcl.Frame) {
	if f.set == nil {
		f.set, frame.StagedDir = set, set.staged.Dir
	}
}

// close removes the copies of files that were made for the call.
func (f *callFiles) close() {
	if f.own {
		f.set.staged.Close() // what cannot be removed now is removed at the next start
	}
}

// resolve returns the inputs of the call with the uploaded files in place of their references, and what the inputs do
// not accept of them. Inputs from another tool are files already.
func (f *callFiles) resolve(o *Operation, call *adapters.Call) (map[string]any, []schema.Violation, error) {
	r := fileResolver{files: f, env: o.Env, call: call, known: map[string]*files.File{}}
	out, err := r.value(call.Frame.Input, o.Decl.Input, "")
	input, _ := out.(map[string]any)
	return input, r.violations, err
}

// fileResolver resolves the files of one call.
type fileResolver struct {
	files      *callFiles
	env        *Environment
	call       *adapters.Call
	known      map[string]*files.File // by ID, so that the store is asked once for each
	violations []schema.Violation
}

// maxViolations is how many violations are reported at once. A list may have any number of files.
const maxViolations = 16

// value returns a value with its files. A value that contains files is copied, because it may be
// shared.
func (r *fileResolver) value(v any, t *schema.Type, path string) (any, error) {
	if v == nil || !t.HoldsFile() || len(r.violations) == maxViolations {
		return v, nil
	}
	if t.Kind == schema.File {
		return r.file(v, t, path)
	}
	switch v := v.(type) {
	case value.LazyJSON:
		decoded, err := v.Value()
		if err != nil {
			return nil, err
		}
		return r.value(decoded, t, path)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = r.value(e, t.Elem, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			var err error
			if out[name], err = r.value(e, result.MemberType(t, name), memberPath(path, name)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (r *fileResolver) file(v any, t *schema.Type, path string) (any, error) {
	f, ok := v.(*attachedFile)
	if ok {
		r.files.share(f.set, r.call.Frame)
	} else {
		ref, isObject := v.(map[string]any)
		if !isObject {
			return v, nil
		}
		var err error
		if f, err = r.files.open(r.env, r.call).find(ref, r.known); errors.Is(err, files.ErrNotFound) {
			r.violate(path, "was not found: you have no such file, or it has expired. Upload it, and "+
				"pass the file_id of "+
				"the reply")
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	reason := t.Refuses(f.facts)
	if reason == "" { // a file under another name or type must still be one that may be uploaded
		uploadable := schema.Type{MediaTypes: f.set.rules.Types}
		reason = uploadable.Refuses(f.facts)
	}
	if reason != "" {
		r.violate(path, reason)
	}
	return f, nil
}

func (r *fileResolver) violate(path, message string) {
	r.violations = append(r.violations, schema.Violation{Path: path, Message: message})
}

// find returns the file of a reference, with the name and type of the reference. Files that it has
// found are in known.
func (s *fileSet) find(ref map[string]any, known map[string]*files.File) (*attachedFile, error) {
	id, _ := ref["file_id"].(string)
	f := known[id]
	if f == nil {
		var err error
		if f, err = s.store.FindOwned(s.ctx, s.owner, id); err != nil {
			return nil, err
		}
		known[id] = f
	}
	facts := f.FileInfo
	if name, ok := ref["filename"].(string); ok {
		facts.Name = files.CleanName(name)
	}
	if kind, ok := ref["content_type"].(string); ok {
		facts.Type = files.CleanType(kind)
	}
	return &attachedFile{set: s, file: f, facts: facts}, nil
}

// restore replaces the references in a thawed value by the files.
func (f *callFiles) restore(v any, env *Environment, call *adapters.Call) (any, error) {
	var err error
	switch v := v.(type) {
	case elicit.FileRef:
		found, err := f.open(env, call).find(v, map[string]*files.File{})
		if errors.Is(err, files.ErrNotFound) {
			const text = "the file %q was not found: it has expired or was removed. Upload it again and repeat the call"
			return nil, &adapters.Fault{Message: fmt.Sprintf(text, v["filename"]), Cause: err}
		}
		return found, err
	case []any:
		for i, e := range v {
			if v[i], err = f.restore(e, env, call); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name, e := range v {
			if v[name], err = f.restore(e, env, call); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// attachedFile is a file as a call reads it.
type attachedFile struct {
	set   *fileSet
	file  *files.File
	facts value.FileInfo
}

// Info implements value.File.
func (a *attachedFile) Info() value.FileInfo { return a.facts }

// AppendJSON implements value.LazyJSON.
func (a *attachedFile) AppendJSON(dst []byte) []byte {
	dst, _ = value.AppendJSON(dst, a.facts.Object()) // strings and numbers
	return dst
}

// Value implements value.LazyJSON.
func (a *attachedFile) Value() (any, error) { return a.facts.Object(), nil }

// Member implements value.File.
func (a *attachedFile) Member(name string) (any, error) {
	switch {
	case name != "path" && name != "url":
		return a.facts.Object()[name], nil
	case a.set.dryRun:
		return "(" + name + " of " + a.facts.Name + ")", nil
	case name == "path":
		path, err := a.set.staged.Path(a.set.ctx, a.file)
		return path, a.set.readError(a.facts.Name, err)
	}
	link, err := a.set.store.SignedURL(a.set.ctx, a.set.rules.BaseURL, a.file)
	return link, a.set.readError(a.facts.Name, err)
}

// Open implements value.File.
func (a *attachedFile) Open() (io.ReadCloser, error) {
	return &fileReader{a.set.store.Open(a.set.ctx, a.file), a}, nil
}

// fileReader reads a file. Its errors are written for the model; their causes are for the log.
type fileReader struct {
	io.ReadCloser
	of *attachedFile
}

// Read implements io.Reader.
func (r *fileReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r.of.set.readError(r.of.facts.Name, err)
	}
	return n, err
}

func (s *fileSet) readError(name string, err error) error {
	switch {
	case err == nil, s.ctx.Err() != nil:
		return err
	case errors.Is(err, files.ErrNotFound):
		text := "the file " + strconv.Quote(name) + " was not found: it has expired or was removed. Upload it again"
		return &adapters.Fault{Message: text, Cause: err}
	}
	text := "the file " + strconv.Quote(name) + " cannot be read now"
	return &adapters.Fault{Message: text, Advice: "try again", Cause: err}
}
