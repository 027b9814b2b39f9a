//go:build cgo

package sqlitefile

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// statMain returns the main file of a database alone. It follows symbolic links. The time of the last change is left
// out: Windows reports it late while the file is open. A file that SQLite has open cannot be replaced there.
func statMain(path string) (f files, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return f, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err == nil {
		defer windows.CloseHandle(handle)
		var info windows.ByHandleFileInformation
		if err = windows.GetFileInformationByHandle(handle, &info); err == nil {
			f.main = file{uint64(info.VolumeSerialNumber), uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)}
			f.size = int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow)
			return f, nil
		}
	}
	return f, &fs.PathError{Op: "stat", Path: path, Err: err}
}
