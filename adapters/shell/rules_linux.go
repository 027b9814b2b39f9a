//go:build linux && cgo

package shell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/hcl"
)

// systemFolders hold what programs of the system are made of and read at their start. Of /etc and /proc, see systemFiles.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap",
	"/etc/alternatives", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/terminfo", "/etc/fonts",
	"/var/lib/ca-certificates", "/run/systemd/resolve",
	"/proc", "/sys/devices/system", "/sys/fs/cgroup",
}

// systemFiles are read by the C library and by most programs, and hold nothing that not everybody on the machine may know.
var systemFiles = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.preload", "/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/passwd", "/etc/group",
	"/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/gai.conf", "/etc/services", "/etc/protocols",
	"/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/os-release", "/etc/mime.types", "/etc/magic", "/etc/inputrc", "/etc/gitconfig", "/etc/machine-id", "/etc/mtab",
}

// devices may be read and written.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Rights of Landlock. Every version knows mayRead.
const (
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayUse   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	mayMake  = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	mayWrite = mayRead | mayMake | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER
	ofFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | mayUse // the rights that a rule for a file can give
)

// systems are the folders of the system that are there. Links into each other, as of /bin to /usr/bin, are left out.
var systems = sync.OnceValue(func() (folders []string) {
	for _, dir := range systemFolders {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && !covered(real, folders) {
			folders = append(folders, dir)
		}
	}
	return folders
})

// prepare readies a confinement by a version of Landlock, or says what this system lacks for it.
func (c *confinement) prepare(v version) (err error) {
	if v == 0 {
		return hcl.Blame(c, "Programs are confined by Landlock, which Linux has from 5.13 on, and the kernel of this machine has none, or has it turned off (lsm= on its command line). Turn it on or run the server on a newer kernel, or write sandbox { mode = %q } to let the programs do all that the server may.", unconfined)
	}
	c.landlock = v
	if c.filter, err = newFilter(c); err != nil {
		return err
	}
	if err = c.watchable(); err == nil {
		err = c.supervisable()
	}
	if err != nil {
		return err
	}
	kept := c.reads[:0]
	for _, path := range c.reads {
		if !covered(filepath.Clean(path), systems()) && !covered(filepath.Clean(path), kept) {
			kept = append(kept, filepath.Clean(path))
		}
	}
	c.reads = kept
	for _, path := range c.writes {
		c.writable = append(c.writable, resolved(path))
	}
	c.toRead, c.toWrite = places(c.reads, c.writable), places(c.writes, c.writable)
	return c.unlinked()
}

// unlinked blames a link where programs could have put it.
func (c *confinement) unlinked() error {
	for _, p := range slices.Concat(c.toRead, c.toWrite) {
		fd, err := p.open()
		if err == nil {
			unix.Close(fd)
		} else if errors.Is(err, unix.ELOOP) {
			return hcl.Blame(c, "The path %q is below %q, which programs may write to, and there is a link on the way. A program may have put it there, so it is not followed: name the place that it leads to.", p.path, p.base)
		}
	}
	return nil
}

// rules makes the ruleset of a cell whose programs may write to some grounds. The caller closes it, also after an error.
func (c *confinement) rules(path string, writable grounds) (*os.File, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: c.landlock.rights(), Scoped: c.landlock.scopes()}
	if c.network {
		attr.Scoped &^= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	size := unsafe.Sizeof(attr)
	if attr.Scoped == 0 {
		size = unsafe.Offsetof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	r := ruleset{fd: int(fd), handled: attr.Handled_access_fs}
	r.allow(mayRead, places(systems(), nil)...)
	r.allow(mayRead&ofFiles, places(systemFiles, nil)...)
	r.allow(mayUse, places(devices, nil)...)
	r.allow(mayRead, c.toRead...)
	if path != c.path {
		r.allow(mayRead, places(foldersOf(path), c.writable)...)
	}
	for _, ground := range writable {
		r.keep(r.beneath(mayWrite&r.handled, ground))
	}
	return os.NewFile(fd, "landlock ruleset"), r.err
}

// admit lets a program be run that is none of the system: the author has named it.
func (k *cell) admit(c *confinement, file string) error {
	clean := filepath.Clean(file)
	if !filepath.IsAbs(file) || k.admitted[clean] || covered(clean, systems()) || covered(clean, c.reads) {
		return nil
	}
	k.admitted[clean] = true
	r := ruleset{fd: int(k.rules.Fd()), handled: mayRead}
	r.allow(mayRead, places([]string{clean}, c.writable)...)
	return r.err
}

// lend lets the programs read a folder that is for this call alone.
func (k *cell) lend(folder string) error {
	k.lent = true
	r := ruleset{fd: int(k.rules.Fd()), handled: mayRead}
	r.allow(mayRead&^unix.LANDLOCK_ACCESS_FS_EXECUTE, place{path: folder})
	return r.err
}

// A ruleset collects rules; err is the first that could not be made.
type ruleset struct {
	fd      int
	handled uint64
	err     error
}

// allow gives rights to what is at some places. Where nothing is, nothing can be allowed.
func (r *ruleset) allow(rights uint64, at ...place) {
	for _, p := range at {
		fd, err := p.open()
		if err == nil {
			err = r.beneath(rights&r.handled, fd)
			unix.Close(fd)
		}
		r.keep(err)
	}
}

func (r *ruleset) keep(err error) {
	if r.err == nil && !absent(err) {
		r.err = err
	}
}

// beneath gives rights to an open file, or to what is below an open folder.
func (r *ruleset) beneath(rights uint64, fd int) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	errno := r.rule(&attr)
	if errno == unix.EINVAL && rights&^ofFiles != 0 { // it is a file
		attr.Allowed_access &= ofFiles
		errno = r.rule(&attr)
	}
	if errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}

func (r *ruleset) rule(attr *unix.LandlockPathBeneathAttr) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(attr)), 0, 0, 0)
	return errno
}

// open opens a place for a rule. No link is followed below its base, where a program that may write could have put one that leads to anywhere: the error is ELOOP.
func (p place) open() (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	if p.base == "" {
		return unix.Open(p.path, flags, 0)
	}
	base, err := unix.Open(p.base, flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(base)
	rest, err := filepath.Rel(p.base, p.path)
	if err != nil {
		return -1, err
	}
	return unix.Openat2(base, rest, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}
