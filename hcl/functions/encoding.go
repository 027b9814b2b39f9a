package functions

import (
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
	return value.DecodeSteps([]byte(s), c.Step)
}

func base64Encode(c *Context, a []any) (any, error) {
	data := dataBytes(a[0])
	if err := c.scan(len(data)); err != nil {
		return nil, err
	}
	if err := c.Spend(base64.StdEncoding.EncodedLen(len(data))); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

func base64Bytes(c *Context, a []any) (any, error) {
	s := strings.TrimRight(a[0].(string), "=")
	if err := c.scan(len(s)); err != nil {
		return nil, err
	}
	if err := c.Spend(len(s)); err != nil {
		return nil, err
	}
	out, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("the text is not valid base64")
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
	r := csv.NewReader(strings.NewReader(a[0].(string)))
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
		if seen[name] {
			return nil, fmt.Errorf("the header has the column %q twice", jsonscan.Excerpt(name))
		}
		seen[name] = true
	}
	rows := []any{}
	for {
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

func csvError(err error) error {
	bad, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return errors.New("the text is not CSV")
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
