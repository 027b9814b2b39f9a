//go:build linux && cgo

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/adapters/sandbox/supervisor"
)

// LandlockABI returns the version of Landlock of this kernel; 0 if it has none or it is turned off.
var LandlockABI = sync.OnceValue(func() ABI {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return ABI(version)
})

// Access rights of Landlock that rules grant together. Every ABI has accessRead.
const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	accessCreate = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	accessRemove = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	accessWrite  = accessRead | accessCreate | accessRemove | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER

	// fileAccess are the rights that a rule for a file can grant; the others are about directories.
	fileAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | accessDevice
)

// landlockABIs lists what each ABI added. A kernel rejects rights and scopes that its ABI does not have.
var landlockABIs = []struct {
	rights uint64 // to files and directories
	scopes uint64 // restrictions of access to other processes
}{
	// Linux 5.13. Renaming and linking between directories is not a right yet: it is always denied.
	1: {rights: accessRead | accessCreate | accessRemove | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK},
	// Linux 5.19.
	2: {rights: unix.LANDLOCK_ACCESS_FS_REFER},
	// Linux 6.2. Before, truncating a file needs no right, and the seccomp filter denies it.
	3: {rights: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	// Linux 6.10.
	5: {rights: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	// Linux 6.12.
	6: {scopes: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET},
}

// rights returns all rights of the ABI. A ruleset handles all of them: what no rule grants is denied.
func (v ABI) rights() (all uint64) {
	for _, added := range landlockABIs[:v.known()] {
		all |= added.rights
	}
	return all
}

// scopes returns all scopes of the ABI.
func (v ABI) scopes() (all uint64) {
	for _, added := range landlockABIs[:v.known()] {
		all |= added.scopes
	}
	return all
}

// controlsTruncate reports whether Landlock denies truncating files that may not be written.
func (v ABI) controlsTruncate() bool { return v.rights()&unix.LANDLOCK_ACCESS_FS_TRUNCATE != 0 }

// known returns the length of the part of landlockABIs that the ABI has.
func (v ABI) known() int { return min(int(v)+1, len(landlockABIs)) }

// pathRule is the path of a Landlock rule. The rule is about what is at the path when the rule is made.
type pathRule struct {
	path string
	base string // the first directory on the path that programs may write to; empty if there is none
}

// newPathRules finds the bases of paths among the directories that programs may write to.
func newPathRules(paths, writable []string) (rules []pathRule) {
	for _, path := range paths {
		p := pathRule{path: filepath.Clean(path)}
		for i := 1; i < len(p.path) && len(writable) > 0 && p.base == ""; i++ {
			if p.path[i] == '/' && isWithin(resolveLinks(p.path[:i]), writable) {
				p.base = p.path[:i]
			}
		}
		rules = append(rules, p)
	}
	return rules
}

// resolveLinks returns a path without symbolic links, or the path itself if it does not exist.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func resolveAll(paths []string) (real []string) {
	for _, path := range paths {
		real = append(real, resolveLinks(path))
	}
	return real
}

// open opens the path for a rule. Below the base no link is followed, because a program could have made it and let it
// lead anywhere: the error is ELOOP.
func (p pathRule) open() (int, error) {
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
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	return unix.Openat2(base, rest, &how)
}

// isAbsent reports that a path does not exist, or that the server has no access to it and could grant none.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR)
}

// ruleset adds rules to a Landlock ruleset; err is the first error.
type ruleset struct {
	fd      int
	handled uint64
	err     error
}

// newRuleset makes the ruleset of a workspace whose programs have a PATH and may write to roots. The caller closes it,
// also after an error.
func (s *Sandbox) newRuleset(path string, roots supervisor.Roots) (*os.File, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: s.abi.rights(), Scoped: s.abi.scopes()}
	if s.Network {
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
	r.allow(accessRead, newPathRules(s.system, nil)...)
	r.allow(accessRead&fileAccess, newPathRules(systemFiles, nil)...)
	r.allow(accessDevice, newPathRules(devices, nil)...)
	r.allow(accessRead, s.readRules...)
	around := s.around
	if path != s.Path {
		dirs, others := s.separate(splitPath(path))
		r.allow(accessRead, newPathRules(dirs, s.writable)...)
		around = slices.Concat(around, others)
	}
	r.allow(accessRead, newPathRules(s.besideConfig(around), s.writable)...)
	s.allowFiles(&r)
	for _, root := range roots {
		r.keepError(r.allowBelow(accessWrite&r.handled, root))
	}
	return os.NewFile(fd, "landlock ruleset"), r.err
}

// openRoots opens what programs may write to: the paths of the policy that exist, and the temporary directory. The
// caller closes the roots.
func (s *Sandbox) openRoots(tempDir string) (roots supervisor.Roots, err error) {
	for _, p := range append(slices.Clip(s.writeRules), pathRule{tempDir, filepath.Dir(tempDir)}) {
		fd, err := p.open()
		if isAbsent(err) {
			continue
		}
		if err != nil {
			roots.Close()
			return nil, err
		}
		roots = append(roots, fd)
	}
	return roots, nil
}

// allowProgram lets programs run a file that the configuration names, if no other rule does.
func (w *Workspace) allowProgram(file string) error {
	s, clean := w.sandbox, filepath.Clean(file)
	if !filepath.IsAbs(file) || w.allowed[clean] || isWithin(clean, s.system) || isWithin(clean, s.Read) {
		return nil
	}
	w.allowed[clean] = true
	r := ruleset{fd: int(w.rules.Fd()), handled: accessRead}
	r.allow(accessRead, newPathRules([]string{clean}, s.writable)...)
	return r.err
}

// allow grants rights to paths and what is below them. Paths that do not exist are skipped.
func (r *ruleset) allow(rights uint64, paths ...pathRule) {
	for _, p := range paths {
		fd, err := p.open()
		if err == nil {
			err = r.allowBelow(rights&r.handled, fd)
			unix.Close(fd)
		}
		r.keepError(err)
	}
}

func (r *ruleset) keepError(err error) {
	if r.err == nil && !isAbsent(err) {
		r.err = err
	}
}

// allowBelow grants rights to an open file, or to an open directory and what is below it.
func (r *ruleset) allowBelow(rights uint64, fd int) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	errno := r.addRule(&attr)
	if errno == unix.EINVAL && rights&^fileAccess != 0 { // it is a file
		attr.Allowed_access &= fileAccess
		errno = r.addRule(&attr)
	}
	if errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}

func (r *ruleset) addRule(attr *unix.LandlockPathBeneathAttr) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(attr)), 0, 0, 0)
	return errno
}

// systemDirCandidates hold what programs of the system consist of and read when they start. Of /etc only parts are
// readable, see systemFiles.
var systemDirCandidates = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap",
	"/etc/alternatives", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/etc/terminfo", "/etc/fonts",
	"/var/lib/ca-certificates", "/run/systemd/resolve",
	"/proc", "/sys/devices/system", "/sys/fs/cgroup",
}

// systemFiles are read by the C library and by most programs. They hold nothing that other users of the machine may
// not know.
var systemFiles = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.preload", "/etc/localtime", "/etc/timezone", "/etc/locale.conf",
	"/etc/locale.alias", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/hosts",
	"/etc/host.conf", "/etc/hostname", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/ssl/openssl.cnf",
	"/etc/ssl/cert.pem", "/etc/os-release", "/etc/mime.types", "/etc/magic", "/etc/inputrc", "/etc/gitconfig",
	"/etc/machine-id", "/etc/mtab",
}

// devices may be read and written.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// systemDirs are the candidates that exist. Links to others of them, such as /bin to /usr/bin, are left out.
var systemDirs = sync.OnceValue(func() (dirs []string) {
	for _, dir := range systemDirCandidates {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && !isWithin(real, dirs) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
})
