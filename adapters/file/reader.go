package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// reader reads the file of one block. It is immutable and safe for concurrent use.
type reader struct {
	block     *block
	dir       adapters.Directory
	format    string
	maxSize   int64 // bytes
	delimiter string
}

// Do implements adapters.Action.
func (r *reader) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, lines, err := r.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	if call.Trace != nil {
		call.Trace(adapters.TraceSent, "read "+target.Path)
	}
	file, err := target.OpenRead()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, adapters.FileFault(err, target.Path)
	}
	out := map[string]any{"path": target.Path, "size": int(info.Size()), "truncated": false}
	if err := r.read(ctx, file, lines, out); err != nil || out["truncated"] == false {
		return out, err
	}
	size := hcl.Size(r.maxSize).String()
	return out, call.Truncate(adapters.Cut{Members: []string{"content", "lines"}, Limit: "max_size = " + size,
		Argument: "max_size", Seen: "the content is larger: " + target.Path, Allowed: r.block.Truncate})
}

func (r *reader) prepare(f *hcl.Frame) (*adapters.File, lineRange, error) {
	lines, err := r.lineRange(f)
	if err != nil {
		return nil, lineRange{}, err
	}
	target, err := r.dir.OpenRendered(f, r.block.Read)
	return target, lines, err
}

// read sets the member of the output that the format determines.
func (r *reader) read(ctx context.Context, file *os.File, lines lineRange, out map[string]any) error {
	path := out["path"].(string)
	raw, err := r.readLines(ctx, file, lines, path)
	if err == nil && int64(len(raw)) > r.maxSize {
		if !canBeCut(r.format) {
			err = r.tooLarge(path)
		}
		raw, out["truncated"] = raw[:lastLineEnd(raw[:r.maxSize])], true
	}
	if err != nil {
		return err
	}
	if r.format == asBytes {
		out["content"] = value.Bytes(raw)
		return nil
	}
	text, err := decodeText(raw, path)
	if err != nil {
		return err
	}
	switch r.format {
	case asLines:
		out["lines"] = adapters.SplitLines(text)
	case asCSV:
		out["rows"], err = decodeCSV(text, r.delimiter, path)
	case asJSON:
		out["content"], err = decodeJSON(text, path)
	default:
		out["content"] = text
	}
	return err
}

// Plan implements adapters.Planner.
func (r *reader) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	target, lines, err := r.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	text := fmt.Sprintf("read %s as %s", target.Path, r.format)
	if !lines.isAll() {
		text += ", " + lines.String()
	}
	return adapters.PlanEffects("file", target.Path, text), nil
}

// Version implements adapters.Versioner. It changes when the file is written or replaced, also by a file
// of the same size. A name without a regular file has the version "none".
func (r *reader) Version(_ context.Context, call *adapters.Call) (string, error) {
	name, err := r.block.Read.Render(call.Frame)
	if err != nil {
		return "", &adapters.Fault{Message: err.Error()}
	}
	target, err := r.dir.Open(name)
	if err != nil {
		return "none", nil
	}
	defer target.Close()
	info, err := target.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "none", nil
	}
	inode := info.Sys().(*syscall.Stat_t).Ino // distinguishes a file from one that replaced it
	return fmt.Sprintf("%d %d %d", info.ModTime().UnixNano(), info.Size(), inode), nil
}

// lineRange is the lines from first to last, counted from 1.
type lineRange struct{ first, last int }

func (l lineRange) isAll() bool { return l.first == 1 && l.last == math.MaxInt }

func (l lineRange) String() string {
	if l.last == math.MaxInt {
		return fmt.Sprintf("from line %d", l.first)
	}
	return fmt.Sprintf("lines %d to %d", l.first, l.last)
}

// lineRange returns the lines that a call reads. Null means the beginning or the end of the file.
func (r *reader) lineRange(f *hcl.Frame) (l lineRange, err error) {
	if l.first, err = lineNumber(r.block.First, f, "first", 1); err != nil {
		return l, err
	}
	if l.last, err = lineNumber(r.block.Last, f, "last", math.MaxInt); err != nil {
		return l, err
	}
	if l.last < l.first {
		return l, &adapters.Fault{Message: fmt.Sprintf("the last line (%d) is before the first (%d)", l.last, l.first)}
	}
	return l, nil
}

func lineNumber(e *hcl.Expr, f *hcl.Frame, name string, ifNull int) (int, error) {
	if e == nil {
		return ifNull, nil
	}
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return 0, &adapters.Fault{Message: err.Error()}
	}
	if v == nil {
		return ifNull, nil
	}
	n, ok := value.Int(v)
	if !ok || n < 1 {
		return 0, &adapters.Fault{Message: fmt.Sprintf("%s must be a line number of at least 1", name)}
	}
	return n, nil
}

// canBeCut reports whether a format of a larger file is cut. All others need all of it.
func canBeCut(format string) bool { return format == asText || format == asLines }

// lastLineEnd returns the end of the last whole line of a text, or else of its last character.
func lastLineEnd(text []byte) int {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	end := len(text)
	for end > 0 && len(text)-end < utf8.UTFMax && !utf8.Valid(text[:end]) {
		end--
	}
	return end
}

// readLines reads a range of lines, or the whole file, up to more than the maximum size. It skips the lines before
// the range without storing them.
func (r *reader) readLines(ctx context.Context, file *os.File, lines lineRange, path string) ([]byte, error) {
	src := &ctxReader{ctx: ctx, src: file}
	if lines.isAll() {
		raw, err := io.ReadAll(io.LimitReader(src, r.maxSize+1))
		return raw, toFault(ctx, err, path)
	}
	in := bufio.NewReaderSize(src, 64<<10)
	var out []byte
	for n := 1; n <= lines.last; {
		part, err := in.ReadSlice('\n')
		if n >= lines.first {
			out = append(out, part...)
		}
		switch {
		case int64(len(out)) > r.maxSize:
			return out, nil
		case err == nil:
			n++
		case errors.Is(err, bufio.ErrBufferFull): // the line continues
		case err == io.EOF:
			return out, nil
		default:
			return nil, toFault(ctx, err, path)
		}
	}
	return out, nil
}

func toFault(ctx context.Context, err error, path string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return adapters.FileFault(err, path)
}

func (r *reader) tooLarge(path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("the content is larger than %s: %s", hcl.Size(r.maxSize), path)}
}

// ctxReader fails when its context ends.
type ctxReader struct {
	ctx context.Context
	src io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.src.Read(p)
}
