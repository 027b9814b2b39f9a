package test

import (
	"context"
	"io/fs"
	"mime"
	"path"

	"hatchel/hcl/schema"
	"hatchel/runtime"
	"hatchel/runtime/stage/files"
)

// uploader uploads the files of the configuration directory that arguments name.
type uploader struct {
	ctx        context.Context
	files      fs.FS
	generation *runtime.Generation
	owner      string
}

// upload returns an argument with the ids of uploaded files in place of their paths.
func (u *uploader) upload(t *schema.Type, v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		if t.Kind == schema.File {
			return u.uploadFile(v)
		}
	case []any:
		if t.Elem == nil {
			return v, nil
		}
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = u.upload(t.Elem, v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			member := t.Elem
			if m, ok := t.Lookup(name); ok {
				member = m.Type
			}
			if out[name] = v[name]; member == nil {
				continue
			}
			if out[name], err = u.upload(member, v[name]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func (u *uploader) uploadFile(name string) (any, error) {
	in, err := u.files.Open(path.Clean(name))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := u.generation.UploadLocal(u.ctx, files.Upload{
		Owner: u.owner, Name: path.Base(name), Type: mime.TypeByExtension(path.Ext(name)), Length: -1,
	}, in)
	if err != nil {
		return nil, err
	}
	return map[string]any{"file_id": f.ID}, nil
}
