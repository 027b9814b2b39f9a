//go:build linux && cgo

package shell

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An identity is in whose name a thread asks the kernel for files.
type identity struct {
	user, group int
	groups      []uint32
	rights      capabilities // that are in effect
}

// capabilities are a set of them, by their numbers in the kernel.
type capabilities uint64

// ofConfined are the capabilities that a confined program may have and that count for files.
const ofConfined = capabilities(1) << unix.CAP_DAC_OVERRIDE

// identityIn reads the status of a thread, as in proc_pid_status(5).
func identityIn(status []byte) (who identity, err error) {
	const all = 4
	found := 0
	number := func(text string, base int) uint64 {
		n, problem := strconv.ParseUint(text, base, 64)
		err = errors.Join(err, problem)
		return n
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		switch {
		case name == "Uid" && len(fields) == 4:
			who.user = int(number(fields[3], 10)) // that for files
		case name == "Gid" && len(fields) == 4:
			who.group = int(number(fields[3], 10))
		case name == "CapEff" && len(fields) == 1:
			who.rights = capabilities(number(fields[0], 16))
		case name == "Groups":
			for _, f := range fields {
				who.groups = append(who.groups, uint32(number(f, 10)))
			}
		default:
			continue
		}
		found++
	}
	if err == nil && found != all {
		err = errors.New("a status of another form")
	}
	return who, err
}

// become gives this thread, which is locked, another identity, when its capabilities let it. No other thread of the process gets it.
func (from identity) become(to identity) error {
	if !slices.Equal(from.groups, to.groups) {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(to.groups)), uintptr(unsafe.Pointer(unsafe.SliceData(to.groups))), 0); errno != 0 {
			return errno
		}
	}
	if from.group != to.group {
		_, _ = unix.SetfsgidRetGid(to.group)
		if now, err := unix.SetfsgidRetGid(-1); err != nil || now != to.group {
			return unix.EPERM
		}
	}
	if from.user != to.user {
		_, _ = unix.SetfsuidRetUid(to.user)
		if now, err := unix.SetfsuidRetUid(-1); err != nil || now != to.user {
			return unix.EPERM
		}
	}
	return to.rights.take()
}

// take puts capabilities in effect, and no others. This thread keeps those that it may have.
func (c capabilities) take() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective, data[1].Effective = uint32(c)&data[0].Permitted, uint32(c>>32)&data[1].Permitted
	return unix.Capset(&header, &data[0])
}
