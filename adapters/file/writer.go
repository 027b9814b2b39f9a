package file

import (
	"context"
	"errors"
	"io"
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

// Do implements adapters.Action.
func (w *writer) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	target, content, err := w.prepare(call.Frame)
	if err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	defer target.Close()
	if call.Trace != nil {
		text := adapters.PlanText(content.data, len(content.data))
		call.Trace(adapters.TraceSent, w.ifExists.Phrase()+" "+target.Path+"\n"+text)
	}
	out := map[string]any{"path": target.Path}
	return out, target.Write(ctx, w.ifExists, func(to io.Writer, existing *os.File, size int64) error {
		if existing != nil && !content.isBytes {
			if err := adapters.CheckUTF8(existing, target.Path); err != nil {
				return err
			}
		}
		n, err := content.writeTo(ctx, to)
		out["size"] = int(size) + n
		return err
	}, func() error { return call.CheckOutput(out) })
}

// content is what is written: data, or the rows of a query.
type content struct {
	data    []byte
	isBytes bool
	rows    adapters.RowStream // nil for data
}

func (w *writer) prepare(f *hcl.Frame) (*adapters.File, content, error) {
	var c content
	v, err := w.block.Content.Eval(f)
	if err == nil {
		if rows, ok := v.(adapters.RowStream); ok {
			c.rows = rows
		} else if v, err = value.ResolveContent(v); err == nil {
			_, c.isBytes = v.(value.Bytes)
			c.data, err = encode(v)
		}
	}
	if fault := new(adapters.Fault); err != nil && !errors.As(err, &fault) {
		err = &adapters.Fault{Message: err.Error()}
	}
	if err != nil {
		return nil, c, err
	}
	target, err := w.dir.OpenRendered(f, w.block.Write)
	return target, c, err
}

// writeTo writes the content and returns its size.
func (c content) writeTo(ctx context.Context, to io.Writer) (int, error) {
	if c.rows == nil {
		return to.Write(c.data)
	}
	list := &jsonRows{to: to}
	err := c.rows.Read(ctx, list)
	if err == nil {
		err = list.end()
	}
	return list.size, err
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

// Plan implements adapters.Planner. It returns the path and the content of the file, and the content that it replaces.
func (w *writer) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	target, c, err := w.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	v, err := w.block.Content.Eval(call.Frame)
	if err != nil {
		return nil, err
	}
	plan := adapters.PlanEffects("file", target.Path, w.ifExists.Phrase()+" "+target.Path)
	if upload, ok := v.(value.File); ok {
		info := upload.Info()
		plan[0].Text += " " + info.Summary()
		return plan, nil
	}
	after := adapters.PlanText(c.data, len(c.data))
	plan[0].After = &after
	plan[0].Before = target.ReplacedText(w.ifExists)
	return plan, nil
}
