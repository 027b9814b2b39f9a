package main

import (
	"context"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime"
	"hatchel/runtime/call"
	"hatchel/runtime/files"
)

// uploadFunc uploads a file of this machine and returns the argument that names it.
type uploadFunc func(name string) (any, error)

// arguments returns the JSON object that a client would send.
func (f *callFlags) arguments(cmd *cobra.Command, p *call.Program, args []string, upload uploadFunc) ([]byte, error) {
	switch {
	case len(args) == 0:
		return argumentObject(p, f.args, upload)
	case args[0] == "-":
		src, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, failf("standard input cannot be read: %s", reason(err))
		}
		return checkObject(src)
	}
	return checkObject([]byte(args[0]))
}

func checkObject(src []byte) ([]byte, error) {
	v, err := value.Decode(src)
	if err != nil {
		return nil, misusef("the arguments are not valid JSON: %s", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, misusef("the arguments must be one JSON object, as in '{\"id\": 42}'")
	}
	return src, nil
}

func uploadFile(ctx context.Context, g *runtime.Generation, owner, name string) (any, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, misusef("%s cannot be read: %s", name, reason(err))
	}
	defer in.Close()
	f, err := g.UploadLocal(ctx, files.Upload{
		Owner: owner, Name: filepath.Base(name), Type: mime.TypeByExtension(filepath.Ext(name)), Length: -1,
	}, in)
	if err != nil {
		return nil, failf("%s cannot be uploaded: %s", name, err)
	}
	return map[string]any{"file_id": f.ID}, nil
}

// argumentObject builds the object of --arg name=value. With an upload function name=@file uploads
// a file for an input that takes one.
func argumentObject(p *call.Program, texts []string, upload uploadFunc) ([]byte, error) {
	values, repeated := map[string]any{}, map[string][]any{}
	for _, arg := range texts {
		name, text, err := splitPair("arg", arg)
		if err != nil {
			return nil, err
		}
		var t *schema.Type
		if m, ok := p.Tool().Input.Lookup(name); ok {
			t = m.Type
		}
		v, isList := parseArgument(t, text)
		if path, isPath := strings.CutPrefix(text, "@"); isPath && takesFile(t) && upload != nil {
			if v, err = upload(path); err != nil {
				return nil, err
			}
		}
		repeated[name] = append(repeated[name], v)
		values[name] = v
		if len(repeated[name]) > 1 || isSequence(t) && !isList {
			values[name] = repeated[name]
		}
	}
	out, err := value.AppendJSON(nil, values)
	if err != nil {
		return nil, misusef("the arguments cannot be encoded as JSON: %s", err)
	}
	return out, nil
}

// parseArgument parses a text for an input, whose type may be nil: as a string where the input is
// one, otherwise as JSON where the text is valid JSON. For a list the text is the whole list or one
// element.
func parseArgument(t *schema.Type, text string) (v any, isList bool) {
	if isSequence(t) {
		if v, err := value.Decode([]byte(text)); err == nil {
			if _, isList := v.([]any); isList {
				return v, true
			}
		}
		t = t.Elem
	}
	if t != nil && t.Kind == schema.String {
		return text, false
	}
	if v, err := value.Decode([]byte(text)); err == nil {
		return v, false
	}
	return text, false
}

// takesFile reports whether an input takes a file or a list of files.
func takesFile(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.File || isSequence(t) && t.Elem.Kind == schema.File)
}

func isSequence(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.List || t.Kind == schema.Set)
}
