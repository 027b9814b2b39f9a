package functions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"
)

func fileFunctions() []Function {
	name := params(param("name", String))
	text := New("file", "Reads a text file of the configuration's folder.", name, fixed(String), fileText)
	coded := New("filebase64", "Reads a file of the configuration's folder in base64.", name, fixed(String), fileBase64)
	text.LoadOnly, coded.LoadOnly = true, true
	return []Function{text, coded}
}

func read(c *Context, a []any) ([]byte, error) {
	if c.ReadFile == nil {
		return nil, errors.New("files are read only when the configuration is loaded")
	}
	name := a[0].(string)
	b, err := c.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %q", name)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%q may not be read", name)
	case errors.Is(err, fs.ErrInvalid):
		return nil, fmt.Errorf("%q does not lie in the configuration's folder", name)
	case err != nil:
		return nil, fmt.Errorf("%q cannot be read", name)
	}
	return b, c.Spend(2 * len(b))
}

func fileText(c *Context, a []any) (any, error) {
	b, err := read(c, a)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%q is not UTF-8 text; filebase64 takes it", a[0])
	}
	return string(b), nil
}

func fileBase64(c *Context, a []any) (any, error) {
	b, err := read(c, a)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}
