//go:build linux && cgo

package shell

import (
	"golang.org/x/sys/unix"
)

// A making is a call that makes a file, with a mode that may have the bits which chmod is refused.
type making struct {
	call  uint32
	mode  int
	flags int // where it is said whether a file is made at all; none: it is
}

// makings are those calls by architecture, because old ones exist on the oldest alone. Folders and sockets get no such bits.
var makings = map[string][]making{
	"amd64": {
		{call: unix.SYS_OPENAT, mode: 3, flags: 2},
		{call: unix.SYS_MKNODAT, mode: 2, flags: none},
		{call: 2, mode: 2, flags: 1},      // open
		{call: 85, mode: 1, flags: none},  // creat
		{call: 133, mode: 1, flags: none}, // mknod
	},
	"arm64":   {{call: unix.SYS_OPENAT, mode: 3, flags: 2}, {call: unix.SYS_MKNODAT, mode: 2, flags: none}},
	"riscv64": {{call: unix.SYS_OPENAT, mode: 3, flags: 2}, {call: unix.SYS_MKNODAT, mode: 2, flags: none}},
}

// makesOne are the flags with which a file is opened that was not there. Without them nobody reads the mode, which may then be anything.
const makesOne = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// keepBits refuses to make files that are setuid or setgid. A program could not fill one by writing to it, which takes the bits away, but whoever writes to it with more
// rights does, and so does fallocate with a mapping where Linux is older than 5.19.
//
// openat2 has the mode in memory, where nobody can look who answers for the kernel. Programs go on with openat.
func (v verdicts) keepBits(arch string) {
	v[unix.SYS_OPENAT2] = verdict{refuse(unix.ENOSYS)}
	for _, m := range makings[arch] {
		if m.flags == none {
			v.mask(mask{m.call, uint32(m.mode), rightsToRunners})
			continue
		}
		v.before(m.call, verdict{
			load(atArguments + 8*uint32(m.mode)), jump(unix.BPF_JSET, rightsToRunners, 0, 3),
			load(atArguments + 8*uint32(m.flags)), jump(unix.BPF_JSET, makesOne, 0, 1), refuse(unix.EPERM),
		})
	}
}

// keepClosed refuses to open a file for neither reading nor writing, which is what the access mode means that is none of the three. Landlock has nothing to ask then, so
// that this would open all that the server's user may read and write: to say that it has changed now, and, before Linux 6.10, for commands to devices.
func (v verdicts) keepClosed(arch string) {
	for _, m := range makings[arch] {
		if m.flags == none {
			continue
		}
		v.before(m.call, verdict{
			load(atArguments + 8*uint32(m.flags)), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: unix.O_ACCMODE},
			jump(unix.BPF_JEQ, unix.O_ACCMODE, 0, 1), refuse(unix.EACCES),
		})
	}
}
