package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// A span is the lines from first to last, counted from 1.
type span struct{ first, last int }

func (s span) all() bool { return s.first == 1 && s.last == math.MaxInt }

func (s span) String() string {
	if s.last == math.MaxInt {
		return fmt.Sprintf("from line %d", s.first)
	}
	return fmt.Sprintf("lines %d to %d", s.first, s.last)
}

// lines computes which lines a call reads; null means that end of the file.
func (r *reader) lines(f *hcl.Frame) (s span, err error) {
	if s.first, err = number(r.config.First, f, "first", 1); err != nil {
		return s, err
	}
	if s.last, err = number(r.config.Last, f, "last", math.MaxInt); err != nil {
		return s, err
	}
	if s.last < s.first {
		return s, &adapters.Fault{Message: fmt.Sprintf("the last line, %d, comes before the first, %d", s.last, s.first)}
	}
	return s, nil
}

func number(e *hcl.Expr, f *hcl.Frame, name string, absent int) (int, error) {
	if e == nil {
		return absent, nil
	}
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return 0, &adapters.Fault{Message: err.Error()}
	}
	if v == nil {
		return absent, nil
	}
	n, ok := value.Int(v)
	if !ok || n < 1 {
		return 0, &adapters.Fault{Message: fmt.Sprintf("%s must be a line number of at least 1", name)}
	}
	return n, nil
}

// take reads the lines of a span, or the whole file, up to the limit. What lies before the span is read over, not kept.
func (r *reader) take(ctx context.Context, file *os.File, lines span, path string) ([]byte, error) {
	src := &cancelled{ctx: ctx, src: file}
	if lines.all() {
		raw, err := io.ReadAll(io.LimitReader(src, r.limit+1))
		if err == nil && int64(len(raw)) > r.limit {
			err = r.tooLarge(path)
		}
		return raw, r.fault(ctx, err, path)
	}
	in := bufio.NewReaderSize(src, 64<<10)
	var out []byte
	for n := 1; n <= lines.last; {
		part, err := in.ReadSlice('\n')
		if n >= lines.first {
			out = append(out, part...)
		}
		if int64(len(out)) > r.limit {
			return nil, r.tooLarge(path)
		}
		switch {
		case err == nil:
			n++
		case errors.Is(err, bufio.ErrBufferFull): // the line goes on
		case err == io.EOF:
			return out, nil
		default:
			return nil, r.fault(ctx, err, path)
		}
	}
	return out, nil
}

func (r *reader) fault(ctx context.Context, err error, path string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return adapters.FileFault(err, path)
}

func (r *reader) tooLarge(path string) error {
	hint := ""
	if r.config.First != nil || r.config.Last != nil {
		hint = "; ask for fewer lines"
	}
	return &adapters.Fault{Message: fmt.Sprintf("more than %s would be read%s: %s", hcl.Size(r.limit), hint, path)}
}

// cancelled ends a read between two blocks when its context ends.
type cancelled struct {
	ctx context.Context
	src io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.src.Read(p)
}
