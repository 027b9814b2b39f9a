//go:build linux && cgo

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/adapters/shell/sandbox/supervisor"
)

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
	r.allow(accessRead, newPathRules(systemDirs(), nil)...)
	r.allow(accessRead&fileAccess, newPathRules(systemFiles, nil)...)
	r.allow(accessDevice, newPathRules(devices, nil)...)
	r.allow(accessRead, s.readRules...)
	if path != s.Path {
		r.allow(accessRead, newPathRules(splitPath(path), s.writable)...)
	}
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
	clean := filepath.Clean(file)
	if !filepath.IsAbs(file) || w.allowed[clean] || isWithin(clean, systemDirs()) || isWithin(clean, w.sandbox.Read) {
		return nil
	}
	w.allowed[clean] = true
	r := ruleset{fd: int(w.rules.Fd()), handled: accessRead}
	r.allow(accessRead, newPathRules([]string{clean}, w.sandbox.writable)...)
	return r.err
}

// GrantRead lets programs read a directory that belongs to this call. The workspace serves no later call.
func (w *Workspace) GrantRead(dir string) error {
	w.exclusive = true
	r := ruleset{fd: int(w.rules.Fd()), handled: accessRead}
	r.allow(accessRead&^unix.LANDLOCK_ACCESS_FS_EXECUTE, pathRule{path: dir})
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
