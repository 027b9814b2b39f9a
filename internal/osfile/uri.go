package osfile

import (
	"net/url"
	"path/filepath"
	"strings"
)

// URI returns the file: URI of an absolute path.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // it begins with a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
