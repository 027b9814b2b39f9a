//go:build linux && cgo

package shell

import (
	"golang.org/x/sys/unix"
)

// Before Linux 6.2 it is no right of Landlock to cut a file: who knows the path of one that the server's user may write to can empty it, in three ways. The filter closes
// them, so that only a descriptor cuts that was opened to write, which is a right:
//
//   - truncate names a path. It is refused altogether.
//   - open with O_TRUNC empties the file also when it opens it to read only, or, by the access mode that is none of the three, for neither: then not even reading is asked
//     for. With the two modes that write, Landlock is asked before the file is emptied; with O_PATH, it is not emptied.
//   - openat2 is told the same in memory. It is refused everywhere, see keepBits.

// opening is the call that opens a file by its path alone, by architecture, because it exists on the oldest alone.
var opening = map[string]uint32{"amd64": 2}

// keepFiles refuses what empties files.
func (v verdicts) keepFiles(arch string) {
	v[unix.SYS_TRUNCATE] = verdict{refuse(unix.ENOSYS)}
	v[unix.SYS_OPENAT] = emptying(2)
	if call, has := opening[arch]; has {
		v[call] = emptying(1)
	}
}

// emptying refuses to empty a file that is not opened to write; the flags are an argument by its number.
func emptying(flags uint32) verdict {
	return verdict{
		load(atArguments + 8*flags), jump(unix.BPF_JSET, unix.O_TRUNC, 0, 3),
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: unix.O_ACCMODE},
		jump(unix.BPF_JEQ, unix.O_WRONLY, 1, 0), jump(unix.BPF_JEQ, unix.O_RDWR, 0, 1),
		allow, refuse(unix.EACCES),
	}
}
