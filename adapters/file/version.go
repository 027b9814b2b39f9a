package file

import (
	"context"
	"fmt"

	"hatchel/adapters"
)

// Version implements adapters.Versioned. It changes when the file is written or replaced, also by a file
// of the same size. A name without a regular file has the version "none".
func (r *reader) Version(_ context.Context, call *adapters.Call) (string, error) {
	name, err := r.block.Read.Render(call.Frame)
	if err != nil {
		return "", &adapters.Fault{Message: err.Error()}
	}
	target, err := r.dir.Open(name)
	if err != nil {
		return "none", nil
	}
	defer target.Close()
	info, err := target.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "none", nil
	}
	return fmt.Sprintf("%d %d %d", info.ModTime().UnixNano(), info.Size(), inode(info)), nil
}
