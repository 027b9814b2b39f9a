//go:build linux && cgo

package shell

/*
#include "spawn.h"
*/
import "C"

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"hatchel/hcl"
)

// listening are the flags with which seccomp gives a listener, or its error: it gives one only where none of those before has any. With the second flag a signal that a
// process handles does not take back what it has asked for already; Linux has it from 5.19 on.
var listening = sync.OnceValues(func() (flags uint32, err error) {
	for _, flags := range []uint32{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		failure := C.shell_listen(C.uint(flags))
		if failure == 0 {
			return flags, nil
		}
		if err = syscall.Errno(failure); failure != C.int(unix.EINVAL) {
			break
		}
	}
	return 0, err
})

// supervisable blames a system on which nobody could be told of what programs ask for.
func (c *confinement) supervisable() error {
	if c.modes {
		return nil
	}
	if _, err := listening(); err != nil {
		return hcl.Blame(c, "The server decides for confined programs which modes, groups and times of files they may change, and the kernel does not tell it: something that the server runs in, such as the runtime of a container, hears of system calls itself, or keeps seccomp from others (%v). Run the server elsewhere, or write sandbox { modes = true } to let the programs change them of all that the server's user owns.", err)
	}
	return nil
}

// listens are the flags for the filter of a confinement; 0: it tells nobody of anything.
func (c *confinement) listens() uint32 {
	if c.modes {
		return 0
	}
	flags, _ := listening()
	return flags
}
