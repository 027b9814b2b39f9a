package main

import (
	"context"
	"errors"
	"io"
	"mime"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/answer"
	"hatchel/cmd/hatchel/exit"
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
	out, err := answer.Arguments(p.Tool().Input, texts, upload)
	if _, isExit := errors.AsType[*exit.Error](err); err != nil && !isExit {
		err = misusef("%s", err)
	}
	return out, err
}
