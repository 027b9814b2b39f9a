package credential

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxFile      = 64 << 10
	maxShownPath = 256
)

// ReadFile reads a file that has a credential, or says where one is, without the spaces around its content. It is read
// at each fetch, because such files change while the server runs. what names the file in errors, which have nothing of
// its content.
func ReadFile(what, name string) ([]byte, error) {
	refuse := func(reason string) ([]byte, error) { return nil, fmt.Errorf("%s%s %s", what, showPath(name), reason) }
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return refuse("is not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(name)
	}
	if err != nil {
		return refuse(describeFileError(err))
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return refuse(describeFileError(err))
	case len(raw) > maxFile:
		return refuse(fmt.Sprintf("has more than %d KiB", maxFile>>10))
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return refuse("is empty")
	}
	return raw, nil
}

// showPath returns a path with a space before it; empty for a text that may be the content of a file, which people
// write in place of its name.
func showPath(name string) string {
	isForeign := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`{}"`, c) }
	if !filepath.IsAbs(name) || len(name) > maxShownPath || strings.ContainsFunc(name, isForeign) {
		return ""
	}
	return " " + name
}

func describeFileError(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read by this process"
	}
	return "cannot be read: " + err.Error()
}
