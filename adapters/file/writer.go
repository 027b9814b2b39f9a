package file

import (
	"context"
	"fmt"
	"os"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// writer writes the file of one block. It is immutable and safe for concurrent use.
type writer struct {
	block    *block
	dir      adapters.Directory
	ifExists adapters.IfExists
}

// Do implements adapters.Action. If it fails, nothing was written.
func (w *writer) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	adapters.TracePlan(w, call)
	target, data, err := w.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	out := map[string]any{"path": target.Path}
	return out, target.Write(ctx, w.ifExists, func(_ *os.File, size int64) ([]byte, error) {
		out["size"] = int(size) + len(data)
		return data, nil
	}, func() error { return call.CheckOutput(out) })
}

func (w *writer) prepare(f *hcl.Frame) (*adapters.File, []byte, error) {
	v, err := w.block.Content.Eval(f)
	if err == nil {
		v, err = value.ResolveContent(v)
	}
	if err != nil {
		return nil, nil, &adapters.Fault{Message: err.Error()}
	}
	data, err := encode(v)
	if err != nil {
		return nil, nil, err
	}
	target, err := w.dir.OpenRendered(f, w.block.Write)
	return target, data, err
}

// encode returns text and bytes unchanged, and everything else as JSON.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case value.Bytes:
		return v, nil
	case nil:
		return nil, &adapters.Fault{Message: "the content is null, so there is nothing to write"}
	}
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		return nil, &adapters.Fault{Message: "the content cannot be written as JSON: " + err.Error(), Cause: err}
	}
	return append(out, '\n'), nil
}

// Plan implements adapters.Planner. It returns the path and the content of the file.
func (w *writer) Plan(call *adapters.Call) (string, error) {
	target, data, err := w.prepare(call.Frame)
	if err != nil {
		return "", err
	}
	defer target.Close()
	content, err := w.block.Content.Eval(call.Frame)
	if err != nil {
		return "", err
	}
	phrase := w.ifExists.Phrase()
	if upload, ok := content.(value.File); ok {
		info := upload.Info()
		return fmt.Sprintf("%s %s %s\n", phrase, target.Path, info.Summary()), nil
	}
	return fmt.Sprintf("%s %s:\n\n%s\n", phrase, target.Path, adapters.PlanText(data, len(data))), nil
}
