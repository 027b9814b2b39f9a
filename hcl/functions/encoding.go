package functions

import (
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/value"
)

func encodingFunctions() []Function {
	text, data := param("text", String), param("data", Data)
	return []Function{
		New("jsonencode", "Writes a value as JSON, keys sorted.", params(param("value", Any)), fixed(String), jsonEncode),
		New("jsondecode", "Reads a value from JSON.", params(text), fixed(Any), jsonDecode),
		New("base64encode", "Writes a string or bytes in base64.", params(data), fixed(String), base64Encode),
		New("base64decode", "Reads text from base64; what is not UTF-8 is refused, base64bytes takes it.", params(text), fixed(String), base64Text),
		New("base64bytes", "Reads bytes from base64.", params(text), fixed(Bytes), base64Bytes),
		New("urlencode", "Escapes a text for a query or a form.", params(text), fixed(String), onText(url.QueryEscape)),
		New("csvdecode", "Reads CSV with a header line as a list of objects of strings.", params(text), listOf(Object), csvDecode),
	}
}

func jsonEncode(c *Context, a []any) (any, error) {
	n, err := Size(a[0], c.Memory/2)
	if err != nil {
		return nil, err
	}
	out, err := value.AppendJSON(make([]byte, 0, n), a[0])
	if err != nil {
		return nil, err
	}
	return c.text(string(out))
}

func jsonDecode(c *Context, a []any) (any, error) {
	s := a[0].(string)
	if err := c.Spend(8 * len(s)); err != nil { // "[1,1,1]": an element of two bytes becomes sixteen
		return nil, err
	}
	v, err := value.Decode([]byte(s))
	if err != nil {
		return nil, err
	}
	return v, nil
}

func base64Encode(c *Context, a []any) (any, error) {
	data, ok := a[0].(value.Bytes)
	if !ok {
		data = value.Bytes(a[0].(string))
	}
	if err := c.Spend(base64.StdEncoding.EncodedLen(len(data))); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

func base64Bytes(c *Context, a []any) (any, error) {
	s := strings.TrimRight(a[0].(string), "=")
	if err := c.Spend(len(s)); err != nil {
		return nil, err
	}
	out, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("the text is not base64")
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
		return nil, errors.New("the data is not UTF-8 text; base64bytes takes it")
	}
	return string(b), nil
}

func csvDecode(c *Context, a []any) (any, error) {
	r := csv.NewReader(strings.NewReader(a[0].(string)))
	r.ReuseRecord = true
	first, err := r.Read()
	if err == io.EOF {
		return nil, errors.New("there is no header line")
	}
	if err != nil {
		return nil, csvFault(err)
	}
	header := append([]string(nil), first...)
	seen := map[string]bool{}
	for _, name := range header {
		if seen[name] {
			return nil, fmt.Errorf("the column %q stands twice in the header", clip(name))
		}
		seen[name] = true
	}
	out := []any{}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, csvFault(err)
		}
		if err := c.Spend(entrySize * (len(record) + 1)); err != nil {
			return nil, err
		}
		row := make(map[string]any, len(record))
		for i, field := range record {
			if err := c.Spend(len(field)); err != nil {
				return nil, err
			}
			row[header[i]] = strings.Clone(field)
		}
		out = append(out, row)
	}
}

func csvFault(err error) error {
	var bad *csv.ParseError
	if !errors.As(err, &bad) {
		return errors.New("the text is not CSV")
	}
	what := "it is malformed"
	switch {
	case errors.Is(bad.Err, csv.ErrFieldCount):
		what = "it has another number of fields than the header"
	case errors.Is(bad.Err, csv.ErrQuote), errors.Is(bad.Err, csv.ErrBareQuote):
		what = "a quote is not closed or not doubled"
	}
	return fmt.Errorf("line %d of the CSV: %s", bad.Line, what)
}
