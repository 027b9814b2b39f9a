package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/files"
	"hatchel/runtime/result"
)

// resolveFiles puts the files that a call names in the place of their names, and holds them against what its inputs take. What another tool has handed on is a file already.
func (r *operation) resolveFiles(c *call) error {
	at := fileResolver{call: c, known: map[string]*files.File{}}
	out, err := at.value(c.frame.Input, r.decl.Input, "")
	switch {
	case err != nil:
		return c.contextCause(err)
	case len(at.violations) > 0:
		return failure.Refusal("The arguments are not valid, and nothing was done:\n" + result.ListViolations(at.violations))
	}
	c.frame.Input, _ = out.(map[string]any)
	return nil
}

// fileResolver is one pass over the arguments of a call.
type fileResolver struct {
	call       *call
	known      map[string]*files.File // by id, so that the store is asked once about each
	violations []schema.Violation
}

// maxViolations are told of at once. The others are not looked for: a list may name any number of files.
const maxViolations = 16

// value returns v with its files. What holds none is returned as it is, and what does is copied: it may be shared.
func (a *fileResolver) value(v any, t *schema.Type, path string) (any, error) {
	if v == nil || !t.HoldsFile() || len(a.violations) == maxViolations {
		return v, nil
	}
	if t.Kind == schema.File {
		return a.file(v, t, path)
	}
	switch v := v.(type) {
	case value.Deferred:
		inner, err := v.Value()
		if err != nil {
			return nil, err
		}
		return a.value(inner, t, path)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = a.value(e, t.Elem, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			var err error
			if out[name], err = a.value(e, result.MemberType(t, name), memberPath(path, name)); err != nil {
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

func (a *fileResolver) file(v any, t *schema.Type, path string) (any, error) {
	f, ok := v.(*attachedFile)
	if ok {
		a.call.shareFiles(f.of)
	} else {
		m, isObject := v.(map[string]any)
		if !isObject {
			return v, nil
		}
		var err error
		if f, err = a.call.fileSet().find(m, a.known); errors.Is(err, files.ErrUnknown) {
			a.refuse(path, "is not known: there is no such file of yours, or it has expired. Upload it, and give the file_id of the answer")
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	why := t.Refuses(f.facts)
	if why == "" { // what is called another thing now is held against what may be uploaded, too
		of := schema.Type{MediaTypes: f.of.rules.Types}
		why = of.Refuses(f.facts)
	}
	if why != "" {
		a.refuse(path, why)
	}
	return f, nil
}

func (a *fileResolver) refuse(path, why string) {
	a.violations = append(a.violations, schema.Violation{Path: path, Message: why})
}

// find is the file that a caller names, called as the caller calls it. Those that were found are known the next time.
func (fs *fileSet) find(named map[string]any, known map[string]*files.File) (*attachedFile, error) {
	id, _ := named["file_id"].(string)
	f := known[id]
	if f == nil {
		var err error
		if f, err = fs.shelf.FindOf(fs.ctx, fs.owner, id); err != nil {
			return nil, err
		}
		known[id] = f
	}
	facts := f.FileFacts
	if name, ok := named["filename"].(string); ok {
		facts.Name = files.CleanName(name)
	}
	if kind, ok := named["content_type"].(string); ok {
		facts.Type = files.CleanType(kind)
	}
	return &attachedFile{of: fs, file: f, facts: facts}, nil
}

// restoreFiles puts files in the places of those that were remembered with the call.
func (c *call) restoreFiles(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case elicit.FileRef:
		f, err := c.fileSet().find(v, map[string]*files.File{})
		if errors.Is(err, files.ErrUnknown) {
			return nil, &adapters.Fault{Message: fmt.Sprintf("the file %q is not there any more: it has expired, or was removed. Upload it again, and make the call again", v["filename"]), Cause: err}
		}
		return f, err
	case []any:
		for i, e := range v {
			if v[i], err = c.restoreFiles(e); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name, e := range v {
			if v[name], err = c.restoreFiles(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// uploadRules are what may be uploaded.
func uploadRules(f *hcl.Files) files.Rules {
	return files.Rules{MaxSize: int64(f.MaxSize), Types: f.Types, TTL: f.TTL, BaseURL: f.BaseURL}
}

// removeStaleCopies removes the copies of files that processes have left behind. It fails only where copies will fail, too, which is said then.
func (c *compiler) removeStaleCopies() {
	if !c.g.uploads {
		return
	}
	if err := files.Sweep(); err != nil {
		c.build.Log.LogAttrs(c.ctx, slog.LevelWarn, "copies of uploaded files were left behind and cannot be removed", slog.String("error", err.Error()))
	}
}
