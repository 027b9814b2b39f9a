//go:build linux && cgo

package shell

import (
	"sync"

	"golang.org/x/sys/unix"
)

// landlock is the version of Landlock that the kernel of this machine has; 0: none, or it is turned off.
var landlock = sync.OnceValue(func() version {
	number, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return version(number)
})

// brought is what each version of Landlock brought, of all that a confinement can make use of. A kernel refuses rights and scopes that its version does not know.
var brought = []struct {
	rights uint64 // to files and folders
	scopes uint64 // ends of what reaches other processes
}{
	// Linux 5.13. Renaming and linking between folders is no right yet: nobody may.
	1: {rights: mayRead | mayMake | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK},
	// Linux 5.19.
	2: {rights: unix.LANDLOCK_ACCESS_FS_REFER},
	// Linux 6.2. Before, everybody may empty files that they may not write to, if the filter does not refuse it.
	3: {rights: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	// Linux 6.10: commands to devices.
	5: {rights: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	// Linux 6.12.
	6: {scopes: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET},
}

// rights are all that the version knows. Who makes rules can give no others, and what none gives nobody has.
func (v version) rights() (all uint64) {
	for _, b := range brought[:v.known()] {
		all |= b.rights
	}
	return all
}

// scopes are all that the version knows.
func (v version) scopes() (all uint64) {
	for _, b := range brought[:v.known()] {
		all |= b.scopes
	}
	return all
}

// keepsFiles reports whether the version keeps programs from emptying files that they may not write to.
func (v version) keepsFiles() bool { return v.rights()&unix.LANDLOCK_ACCESS_FS_TRUNCATE != 0 }

// known is how much of brought the version has; there are versions that brought more.
func (v version) known() int { return min(int(v)+1, len(brought)) }
