package functions

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

func jsonEncode(c *Context, a []any) (any, error) {
	n, err := c.Size(a[0], c.Memory/2)
	if err != nil {
		return nil, err
	}
	out, err := value.AppendJSONSteps(make([]byte, 0, n), a[0], c.Step)
	if err != nil {
		return nil, err
	}
	return c.text(string(out))
}

func jsonDecode(c *Context, a []any) (any, error) {
	s := a[0].(string)
	if err := c.Spend(8 * len(s)); err != nil { // an element such as "1," takes 16 bytes decoded
		return nil, err
	}
	v, _, err := value.DecodeLossy([]byte(s), c.Step)
	return v, err
}

// base64Part is how many groups of base64 are computed between two steps: three bytes, or four characters.
const base64Part = 16 << 10

func base64Encode(c *Context, a []any) (any, error) {
	data := dataBytes(a[0])
	size := base64.StdEncoding.EncodedLen(len(data))
	if err := c.Spend(size); err != nil {
		return nil, err
	}
	out := make([]byte, 0, size)
	for part := range slices.Chunk(data, base64Part*3) {
		if err := c.scan(len(part)); err != nil {
			return nil, err
		}
		out = base64.StdEncoding.AppendEncode(out, part)
	}
	return string(out), nil
}

// lineBreaks removes what a text of base64 may have between its characters.
var lineBreaks = strings.NewReplacer("\r", "", "\n", "")

func base64Bytes(c *Context, a []any) (any, error) {
	s := strings.TrimRight(a[0].(string), "=")
	if err := c.Spend(2 * len(s)); err != nil {
		return nil, err
	}
	groups := make([]byte, 0, len(s))
	for part, err := range value.Parts(s, c.Step) {
		if err != nil {
			return nil, err
		}
		groups = append(groups, lineBreaks.Replace(part)...)
	}
	out := make([]byte, 0, base64.RawStdEncoding.DecodedLen(len(groups)))
	for part := range slices.Chunk(groups, base64Part*4) {
		if err := c.scan(len(part)); err != nil {
			return nil, err
		}
		var err error
		if out, err = base64.RawStdEncoding.AppendDecode(out, part); err != nil {
			return nil, errors.New("the text is not valid base64")
		}
	}
	return value.Bytes(out), nil
}

func base64Text(c *Context, a []any) (any, error) {
	v, err := base64Bytes(c, a)
	if err != nil {
		return nil, err
	}
	b := v.(value.Bytes)
	if !utf8.Valid(b) {
		return nil, errors.New("the data is not UTF-8 text; use base64bytes")
	}
	return string(b), nil
}

func csvDecode(c *Context, a []any) (any, error) {
	text := &stepReader{text: strings.NewReader(a[0].(string)), c: c}
	r := csv.NewReader(text)
	r.ReuseRecord = true
	first, err := r.Read()
	if err == io.EOF {
		return nil, errors.New("the header line is missing")
	}
	if err != nil {
		return nil, csvError(err)
	}
	header := slices.Clone(first)
	seen := map[string]bool{}
	for _, name := range header {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if err := c.entries(1); err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("the header has the column %q twice", jsonscan.Excerpt(name))
		}
		seen[name] = true
	}
	rows := []any{}
	for {
		text.commas = 0
		record, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		if err := c.Spend(entrySize * (len(record) + 1)); err != nil {
			return nil, err
		}
		if err := c.steps(len(record), 1); err != nil {
			return nil, err
		}
		row := make(map[string]any, len(record))
		for i, field := range record {
			if err := c.Spend(len(field)); err != nil {
				return nil, err
			}
			row[header[i]] = strings.Clone(field)
		}
		rows = append(rows, row)
	}
}

// stepReader reads a text of CSV within the budget of time.
type stepReader struct {
	text   io.Reader
	c      *Context
	commas int // since the last record
	line   int // bytes since the last line break that was read
}

// maxCommas bounds the fields of a record, which the reader returns at once.
const maxCommas = 100_000

// maxLine bounds a line, which the reader returns at once.
const maxLine = 2 << 20

// Read implements io.Reader.
func (r *stepReader) Read(p []byte) (int, error) {
	const bytesOfField = 32
	if err := r.c.Step(1 + len(p)/bytesOfField); err != nil {
		return 0, err
	}
	n, err := r.text.Read(p)
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		r.line = n - end - 1
	} else {
		r.line += n
	}
	if r.line > maxLine {
		return 0, fmt.Errorf("a line of the CSV has more than %d MiB", maxLine>>20)
	}
	if r.commas += bytes.Count(p[:n], []byte(",")); r.commas > maxCommas {
		return 0, fmt.Errorf("a record of the CSV has more than %d commas", maxCommas)
	}
	return n, err
}

// csvError explains an error of the reader, or returns that of the budget.
func csvError(err error) error {
	bad, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	what := "is malformed"
	switch {
	case errors.Is(bad.Err, csv.ErrFieldCount):
		what = "has a different number of fields than the header"
	case errors.Is(bad.Err, csv.ErrQuote), errors.Is(bad.Err, csv.ErrBareQuote):
		what = "has a quote that is not closed or not doubled"
	}
	return fmt.Errorf("line %d of the CSV %s", bad.Line, what)
}
