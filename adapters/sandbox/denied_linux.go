//go:build linux && cgo

package sandbox

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Allows reports whether the rules let programs read and write a file or a directory, judged by its name and, if it
// exists, by what it leads to. The temporary directory of a call is not considered.
func (s *Sandbox) Allows(path string) (read, write bool) {
	path = filepath.Clean(path)
	real := resolveLinks(path)
	names := []string{path, real}
	within := func(dirs []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return isWithin(name, dirs) })
	}
	write = isWithin(real, s.writable) || slices.Contains(devices, real)
	switch config := resolveLinks(s.Config); {
	case write, within(s.Read), within(s.readable):
		return true, write
	case s.Config != "" && isWithin(real, []string{config}):
		name, err := filepath.Rel(config, real)
		return err == nil && slices.Contains(s.Files, name), false
	}
	return within(s.system) || within(s.around) || within(systemFiles), false
}

// DeniedSockets reports whether programs of the call have tried to open a socket and were not allowed to: one of the
// internet, or one of this machine.
func (w *Workspace) DeniedSockets() (internet, local bool) {
	for _, s := range w.supervisors {
		families := s.DeniedFamilies()
		internet = internet || families&(1<<unix.AF_INET|1<<unix.AF_INET6) != 0
		local = local || families&(1<<unix.AF_UNIX) != 0
	}
	return internet, local
}
