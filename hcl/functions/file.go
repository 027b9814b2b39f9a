package functions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	"hatchel/internal/charset"
)

// ReadFile returns the content of a file of the configuration directory. Its error is for the author.
func ReadFile(c *Context, name string) ([]byte, error) {
	if c.ReadFile == nil {
		return nil, errors.New("files can be read only when the configuration is loaded")
	}
	b, err := c.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q not found", name)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("no permission to read %q", name)
	case errors.Is(err, fs.ErrInvalid):
		return nil, fmt.Errorf("%q is outside the configuration directory", name)
	case err != nil:
		return nil, fmt.Errorf("%q cannot be read", name)
	}
	return b, c.Spend(2 * len(b))
}

func fileText(c *Context, a []any) (any, error) {
	b, err := ReadFile(c, a[0].(string))
	if err != nil {
		return nil, err
	}
	text, err := charset.Decode(b, nil)
	if err != nil {
		return nil, fmt.Errorf("%q is %w; convert it, or use filebase64", a[0], err)
	}
	return text, nil
}

func fileBase64(c *Context, a []any) (any, error) {
	b, err := ReadFile(c, a[0].(string))
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}
