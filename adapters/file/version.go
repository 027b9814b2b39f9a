package file

import (
	"context"
	"fmt"

	"hatchel/adapters"
)

// Version implements adapters.Versioned: a file that was written or replaced, also by one of the same size, has another. One that cannot be opened has one of its own.
func (r *reader) Version(_ context.Context, call *adapters.Call) (string, error) {
	name, err := r.config.Read.Render(call.Frame)
	if err != nil {
		return "", &adapters.Fault{Message: err.Error()}
	}
	entry, err := r.folder.Open(name)
	if err != nil {
		return "none", nil
	}
	defer entry.Close()
	file, err := entry.Read()
	if err != nil {
		return "none", nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "none", nil
	}
	return fmt.Sprintf("%d %d %d", info.ModTime().UnixNano(), info.Size(), inode(info)), nil
}
