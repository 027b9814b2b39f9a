package supervisor

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Roots are the files and directories that the programs of one call may write to: O_PATH descriptors, the same that
// the Landlock rules of the call were made with. Renaming what is at their paths changes nothing.
type Roots []int

// Close closes the descriptors.
func (r Roots) Close() {
	for _, fd := range r {
		unix.Close(fd)
	}
}

// maxRenames is how often a file may be renamed while Contains looks for it, before it counts as outside.
const maxRenames = 8

// Contains reports whether an open file is a root or below one. As for Landlock, the path by which the file was opened
// decides, also over mounts; its other hard links do not count, and a deleted file is in no root.
//
// The names that the kernel reports for a root and for the file only suggest a path from one to the other. The path
// counts if it leads from the root to the same file, without following links and without leaving the root.
func (r Roots) Contains(fd int) bool {
	wanted, err := inodeOf(fd)
	if err != nil {
		return false
	}
	for range maxRenames {
		name := nameOf(fd)
		candidate := false
		for _, root := range r {
			path, ok := relativePath(nameOf(root), name)
			if !ok {
				continue
			}
			candidate = true
			if found, err := inodeAt(root, path); err == nil && found == wanted {
				return true
			}
		}
		if !candidate {
			return false
		}
	}
	return false
}

// relativePath returns the path from dir to name; it is empty if they are the same.
func relativePath(dir, name string) (path string, ok bool) {
	if dir == "" || name == "" {
		return "", false
	}
	if name == dir {
		return "", true
	}
	return strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// DescriptorPath returns a path that leads to an open file of this process.
func DescriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// nameOf returns the current path of an open file, or an empty string.
func nameOf(fd int) string {
	var name [unix.PathMax]byte
	n, err := unix.Readlink(DescriptorPath(fd), name[:])
	if err != nil || n == len(name) {
		return ""
	}
	return string(name[:n])
}

// inode identifies a file and the mount through which it was reached.
type inode struct {
	major, minor  uint32
	number, mount uint64
}

func inodeOf(fd int) (inode, error) {
	var s unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_MNT_ID, &s)
	return inode{s.Dev_major, s.Dev_minor, s.Ino, s.Mnt_id}, err
}

// inodeAt returns the inode at a path below dir.
func inodeAt(dir int, path string) (inode, error) {
	if path == "" {
		return inodeOf(dir)
	}
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return inode{}, err
	}
	defer unix.Close(fd)
	return inodeOf(fd)
}
