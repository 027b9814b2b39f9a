package lsp

import (
	"errors"

	"golang.org/x/sys/windows"
)

// hasEnded reports whether there is no process with an ID, or one that has ended and is still open elsewhere.
func hasEnded(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(process)
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}
