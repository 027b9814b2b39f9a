package csv

import (
	"context"
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/cut"
)

// action writes the rows of one block. It is immutable and safe for concurrent use.
type action struct {
	block     *block
	dir       adapters.Directory
	delimiter rune
	columns   []string // nil if the rows of a call determine them
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	target, t, err := a.prepare(call.Frame)
	if err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	defer target.Close()
	if call.Trace != nil {
		call.Trace(adapters.TraceSent, adapters.IfExists(a.block.IfExists).Phrase()+" "+target.Path)
	}
	out := map[string]any{"path": target.Path}
	produce := func(to io.Writer, existing *os.File, size int64) error {
		w := &tableWriter{ctx: ctx, table: t, to: to, header: a.block.Header && size == 0}
		if size > 0 {
			w.checkExisting = func() ([]byte, error) { return a.checkExisting(existing, size, t, target.Path) }
		}
		err := w.write()
		out["count"] = w.count
		return err
	}
	accept := func() error { return call.CheckOutput(out) }
	return out, target.Write(ctx, adapters.IfExists(a.block.IfExists), produce, accept)
}

func (a *action) prepare(f *hcl.Frame) (*adapters.File, *table, error) {
	rows, err := a.block.Rows.Eval(f)
	if err != nil {
		return nil, nil, &adapters.Fault{Message: err.Error()}
	}
	t, err := a.newTable(rows)
	if err != nil {
		return nil, nil, err
	}
	target, err := a.dir.OpenRendered(f, a.block.File)
	return target, t, err
}

// Plan implements adapters.Planner. It returns the path and the content of the file.
func (a *action) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	target, t, err := a.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	var text strings.Builder
	w := &tableWriter{ctx: call.Frame.Context, table: t, to: &text, header: a.block.Header}
	if err := w.write(); err != nil {
		return nil, err
	}
	ifExists, shown := adapters.IfExists(a.block.IfExists), strings.ReplaceAll(text.String(), "\r\n", "\n")
	plan := adapters.PlanEffects("csv", target.Path,
		fmt.Sprintf("%s %s, %d rows", ifExists.Phrase(), target.Path, w.count))
	plan[0].Before, plan[0].After = target.ReplacedText(ifExists), &shown
	return plan, nil
}

// maxHeader is the maximum number of bytes that are read to find the first line of a file.
const maxHeader = 1 << 20

// checkExisting checks that the file has the columns of the table, and adopts its line breaks. It returns
// the line break that is missing at the end of the file, if any.
func (a *action) checkExisting(f *os.File, size int64, t *table, path string) ([]byte, error) {
	if err := adapters.CheckUTF8(f, path); err != nil {
		return nil, err
	}
	head := make([]byte, min(size, maxHeader))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, adapters.FileFault(err, path)
	}
	first := strings.TrimPrefix(string(head), "\ufeff")
	if end := headerEnd(first); end < len(first) {
		t.newline = first[end : end+1]
		if strings.HasPrefix(first[end:], "\r\n") {
			t.newline = "\r\n"
		}
		first = first[:end]
	}
	if a.block.Header && len(t.rows)+len(t.columns) > 0 {
		if err := a.checkHeader(first, t, path); err != nil {
			return nil, err
		}
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil {
		return nil, adapters.FileFault(err, path)
	}
	if last[0] != t.newline[len(t.newline)-1] {
		return []byte(t.newline), nil
	}
	return nil, nil
}

// headerEnd returns the position of the first line break that is not in quotes, or the end of the text.
func headerEnd(text string) int {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '\n' || c == '\r'):
			return i
		}
	}
	return len(text)
}

func (a *action) checkHeader(header string, t *table, path string) error {
	columns, err := readHeader(header, a.delimiter)
	if err != nil {
		return &adapters.Fault{Message: "the first line does not contain the names of columns: " + path, Cause: err}
	}
	if t.hasColumns(columns) {
		return nil
	}
	for _, delimiter := range ",;\t|" {
		if other, err := readHeader(header, delimiter); err == nil && t.hasColumns(other) {
			return &adapters.Fault{Message: fmt.Sprintf("the cells of the file are separated by %q; the tool must use "+
				"delimiter = %[1]q: %s", string(delimiter), path)}
		}
	}
	return &adapters.Fault{Message: fmt.Sprintf("the file has the columns %s, but the rows have the columns %s: %s",
		joinNames(columns), joinNames(t.columns), path)}
}

// readHeader returns the cells of a first line.
func readHeader(line string, delimiter rune) ([]string, error) {
	r := stdcsv.NewReader(strings.NewReader(line))
	r.Comma = delimiter
	return r.Read()
}

// joinNames lists the names of columns in a message. It truncates long lists and names.
func joinNames(columns []string) string {
	const maxNames, maxName = 20, 60
	var list []string
	for _, name := range columns[:min(len(columns), maxNames)] {
		list = append(list, cut.Runes(name, maxName))
	}
	if more := len(columns) - maxNames; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}
