//go:build linux && cgo

package shell

import (
	"golang.org/x/sys/unix"
)

// Landlock asks about commands to devices alone. What a file system takes as a command to a file that is open to be read changes it all the same, or another.

// commands are refused: to change the flags of files, their generation, that they can never be written again, their encryption, and to lock and unlock what is encrypted.
var commands = []uint32{
	unix.FS_IOC_SETFLAGS, 0x401c5820, 0x40087602, 0x40086604, 0x40047211, // FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, that of ext4, and FAT_IOCTL_SET_ATTRIBUTES
	unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY, unix.FS_IOC_ADD_ENCRYPTION_KEY, unix.FS_IOC_REMOVE_ENCRYPTION_KEY,
}

// families are the second byte of all commands of a file system which makes and removes folders by them, and copies of all that lies below one, where Landlock is not asked:
// btrfs, bcachefs.
var families = []uint32{0x9400, 0xbc00}

// copies are the commands of the first family that other file systems have, too. They are about the contents of what is open to be written, or is the same already.
var copies = []uint32{unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE}

// obey lets be all other commands. The kernel reads the lower half of the argument.
func obey() verdict {
	v := verdict{load(atArguments + 8)}
	for _, c := range copies {
		v = append(v, jump(unix.BPF_JEQ, c, 0, 1), allow)
	}
	for _, c := range commands {
		v = append(v, jump(unix.BPF_JEQ, c, 0, 1), refuse(unix.EOPNOTSUPP))
	}
	v = append(v, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xff00})
	for _, f := range families {
		v = append(v, jump(unix.BPF_JEQ, f, 0, 1), refuse(unix.EOPNOTSUPP))
	}
	return append(v, allow)
}

// leases are the commands of fcntl by which the owner of a file that is open to be read makes everybody else wait who opens it: F_SETLEASE, F_SETDELEG. They are refused as
// by a file system that has none.
var leases = []uint32{unix.F_SETLEASE, 1040}

func withoutLeases() verdict {
	v := verdict{load(atArguments + 8)}
	for _, l := range leases {
		v = append(v, jump(unix.BPF_JEQ, l, 0, 1), refuse(unix.EINVAL))
	}
	return append(v, allow)
}
