package file

import (
	"context"
	"fmt"

	"hatchel/adapters"
)

// Version implements adapters.Versioned. It changes when the file is written or replaced, also by a file
// of the same size. A file that cannot be opened has the version "none".
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
	file, err := target.OpenRead()
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
