package supervisor

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// identity is what the kernel checks when a thread accesses files.
type identity struct {
	user, group  int // of the file system
	groups       []uint32
	capabilities capabilities // the effective ones
}

// capabilities is a set of capabilities, as bits by their number.
type capabilities uint64

// keptCapabilities are those about files that a sandboxed program can have.
const keptCapabilities = capabilities(1) << unix.CAP_DAC_OVERRIDE

// readIdentity reads the identity of a thread.
func readIdentity(t tracee) (identity, error) {
	status, err := t.readStatus()
	if err != nil {
		return identity{}, err
	}
	return parseIdentity(status)
}

// parseIdentity parses the status of a thread, see proc_pid_status(5).
func parseIdentity(status []byte) (id identity, err error) {
	const wanted = 4
	found := 0
	number := func(text string, base int) uint64 {
		n, parseErr := strconv.ParseUint(text, base, 64)
		err = errors.Join(err, parseErr)
		return n
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		switch {
		case name == "Uid" && len(fields) == 4:
			id.user = int(number(fields[3], 10)) // the last one is that of the file system
		case name == "Gid" && len(fields) == 4:
			id.group = int(number(fields[3], 10))
		case name == "CapEff" && len(fields) == 1:
			id.capabilities = capabilities(number(fields[0], 16))
		case name == "Groups":
			for _, f := range fields {
				id.groups = append(id.groups, uint32(number(f, 10)))
			}
		default:
			continue
		}
		found++
	}
	if err == nil && found != wanted {
		err = errors.New("/proc/TID/status has an unknown format")
	}
	return id, err
}

// switchTo gives this locked thread another identity, if its capabilities allow it. Raw system calls are used because
// those of package syscall change all threads of the process.
func (id identity) switchTo(to identity) error {
	if !slices.Equal(id.groups, to.groups) {
		groups := uintptr(unsafe.Pointer(unsafe.SliceData(to.groups)))
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(to.groups)), groups, 0); errno != 0 {
			return errno
		}
	}
	if id.group != to.group {
		_, _ = unix.SetfsgidRetGid(to.group)
		if now, err := unix.SetfsgidRetGid(-1); err != nil || now != to.group {
			return unix.EPERM
		}
	}
	if id.user != to.user {
		_, _ = unix.SetfsuidRetUid(to.user)
		if now, err := unix.SetfsuidRetUid(-1); err != nil || now != to.user {
			return unix.EPERM
		}
	}
	return to.capabilities.setEffective()
}

// setEffective makes exactly these capabilities effective. The permitted ones stay.
func (c capabilities) setEffective() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective = uint32(c) & data[0].Permitted
	data[1].Effective = uint32(c>>32) & data[1].Permitted
	return unix.Capset(&header, &data[0])
}
