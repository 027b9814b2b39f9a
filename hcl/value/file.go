package value

import (
	"fmt"
	"io"
)

// File is an uploaded file as a call sees it. As a value it is an object with file_id, filename,
// content_type, size and sha256. Its content is read only where bytes are asked for. Its methods
// are safe for concurrent use while the call runs.
type File interface {
	LazyJSON

	// Facts returns what is known about the file without reading it.
	Info() FileInfo

	// Member returns a member of the object, or path or url, which are created on first use. The
	// error is a sentence for the model.
	Member(name string) (any, error)

	// Open returns a reader of the content from its beginning.
	Open() (io.ReadCloser, error)
}

// FileInfo describes a file.
type FileInfo struct {
	ID      string
	Name    string // the last element of a path, without control characters
	Type    string // the content type that the uploader declared, or else Sniffed
	Sniffed string // the content type by the first bytes
	Size    int64  // in bytes
	SHA256  string // in hexadecimal
}

// Summary returns a short description of the file, to be shown instead of its content.
func (f *FileInfo) Summary() string {
	return fmt.Sprintf("(%s, %d bytes, sha256 %s)", f.Name, f.Size, f.SHA256)
}

// Object returns the object that expressions and JSON see.
func (f *FileInfo) Object() map[string]any {
	return map[string]any{
		"file_id": f.ID, "filename": f.Name, "content_type": f.Type, "size": int(f.Size), "sha256": f.SHA256,
	}
}

// ResolveContent returns the content of a File as Bytes, and any other value resolved.
func ResolveContent(v any) (any, error) {
	f, ok := v.(File)
	if !ok {
		return Resolve(v)
	}
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	content := make(Bytes, f.Info().Size)
	if _, err := io.ReadFull(in, content); err != nil {
		return nil, fmt.Errorf("the file %s cannot be read: %w", f.Info().Name, err)
	}
	return content, nil
}
