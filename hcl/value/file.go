package value

import (
	"fmt"
	"io"
)

// File is a file that a caller has uploaded, as a call reads it. As any other value it is an object of what is known about it: file_id, filename, content_type, size and sha256; its
// bytes are read where a context asks for them, and nowhere else. Its methods are safe for concurrent use, and of use for as long as the call lasts.
type File interface {
	Deferred

	// Facts are what is known about it.
	Facts() FileFacts

	// Member returns a member by its name: those of the object, or path or url, which are made when they are asked for. The error is a sentence for the model.
	Member(name string) (any, error)

	// Open reads the bytes from their beginning.
	Open() (io.ReadCloser, error)
}

// FileFacts is what is known about a file without reading it.
type FileFacts struct {
	ID      string
	Name    string // cleaned: the last part of a path, without control characters
	Type    string // as its owner says, or else what its bytes look like
	Sniffed string // what its bytes look like
	Size    int64
	SHA256  string // in hex
}

// Summary is how a file is shown where its bytes would be too much.
func (f *FileFacts) Summary() string {
	return fmt.Sprintf("(%s, %d bytes, sha256 %s)", f.Name, f.Size, f.SHA256)
}

// Object is what programs and JSON see of a file.
func (f *FileFacts) Object() map[string]any {
	return map[string]any{"file_id": f.ID, "filename": f.Name, "content_type": f.Type, "size": int(f.Size), "sha256": f.SHA256}
}

// Raw returns the bytes of a File, and any other value resolved: for contexts that take bytes.
func Raw(v any) (any, error) {
	f, ok := v.(File)
	if !ok {
		return Resolve(v)
	}
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out := make(Bytes, f.Facts().Size)
	if _, err := io.ReadFull(in, out); err != nil {
		return nil, fmt.Errorf("the file %s cannot be read: %w", f.Facts().Name, err)
	}
	return out, nil
}
